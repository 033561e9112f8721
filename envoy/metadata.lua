-- Handles requests that the server can't: headers over several lines, and a request without a path. matchers.ts runs
-- this filter only for requests with such a header, and for CONNECT.

local M = {}

-- Replaces the bytes that are not allowed in metadata. The server would not see a value with such a byte.
function M.printable(value)
  return (value:gsub("\t", " "):gsub("[^ -~]", "?"))
end

-- Headers whose value is a list over several lines. The server would only see the first line.
local LISTS = { "if-match", "if-none-match" }

function M.on_request(handle)
  local headers = handle:headers()
  if not headers:get(":path") then return handle:respond({ [":status"] = "404" }, "") end
  for i = 1, #LISTS do
    local value = headers:get(LISTS[i])
    if value then headers:replace(LISTS[i], value) end
  end
end

return M
