-- Header values that gRPC can't represent: bytes that are not ASCII.

local M = {}

-- Replaces the bytes that are not allowed in metadata. The server would not see a value with such a byte.
function M.printable(value)
  return (value:gsub("\t", " "):gsub("[^ -~]", "?"))
end

return M
