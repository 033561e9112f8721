-- Header values that gRPC can't represent: headers over several lines, and bytes that are not ASCII.

local M = {}

-- Replaces the bytes that are not allowed in metadata. The server would not see a value with such a byte.
function M.printable(value)
  return (value:gsub("\t", " "):gsub("[^ -~]", "?"))
end

-- Headers whose value is a list over several lines. The server would only see the first line.
local LISTS = { "if-match", "if-none-match" }

function M.join_lists(headers)
  for i = 1, #LISTS do
    local value = headers:get(LISTS[i])
    if value then headers:replace(LISTS[i], value) end
  end
end

return M
