-- What HTTP has and gRPC can't have: bytes of a header that metadata has no room for, and a request without a path.
-- envoy.yaml has this filter run only where there is such a header, or the method is CONNECT.

local M = {}

-- The value of a header so that it can be metadata: with any other byte the server would see none.
function M.printable(value)
  return (value:gsub("\t", " "):gsub("[^ -~]", "?"))
end

-- Headers that are lists, however many lines they have. The server would see the first line.
local LISTS = { "if-match", "if-none-match" }

local function join_lists(headers)
  for i = 1, #LISTS do
    local value = headers:get(LISTS[i])
    if value then headers:replace(LISTS[i], M.printable(value)) end
  end
end

local IDEMPOTENCY_KEY = "idempotency-key"

-- The server would not see such a key, and would do again what is to be done once. It gets one that it refuses.
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
  join_lists(headers)
end

return M
