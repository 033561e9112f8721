-- Handles requests that gRPC can't represent: header bytes that are not allowed in metadata, and a request without a
-- path. matchers.ts runs this filter only for requests with such a header, and for CONNECT.

local M = {}

-- Replaces the bytes that are not allowed in metadata. The server would not see a value with such a byte.
function M.printable(value)
  return (value:gsub("\t", " "):gsub("[^ -~]", "?"))
end

-- Headers that the server must see even when they are wrong. Of a list over several lines it would only see the first.
local SHOWN = { "if-match", "if-none-match", "last-event-id" }

local function show(headers)
  for i = 1, #SHOWN do
    local value = headers:get(SHOWN[i])
    if value then headers:replace(SHOWN[i], M.printable(value)) end
  end
end

local IDEMPOTENCY_KEY = "idempotency-key"

-- The server would not see such a key, and would run a repeated request again. It rejects the replacement.
local function check_idempotency_key(headers)
  local key = headers:get(IDEMPOTENCY_KEY)
  if not key or not key:find("[^ -~]") then return end
  headers:remove(IDEMPOTENCY_KEY)
  headers:add(IDEMPOTENCY_KEY, ",")
end

function M.on_request(handle)
  local headers = handle:headers()
  if not headers:get(":path") then return handle:respond({ [":status"] = "404" }, "") end
  check_idempotency_key(headers)
  show(headers)
end

return M
