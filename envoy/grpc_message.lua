-- Encodes gRPC messages.

local M = {}

local function varint(n)
  local bytes = {}
  while n > 127 do
    bytes[#bytes + 1] = string.char(n % 128 + 128)
    n = math.floor(n / 128)
  end
  bytes[#bytes + 1] = string.char(n)
  return table.concat(bytes)
end

-- Protobuf's wire types.
local VARINT, LENGTH_DELIMITED = 0, 2

-- Encodes a protobuf message of strings, bytes and non-negative numbers. `fields` are field numbers by name.
function M.encode(fields, values)
  local parts = {}
  for name, number in pairs(fields) do
    local value = values[name]
    if type(value) == "number" then
      parts[#parts + 1] = varint(number * 8 + VARINT) .. varint(value)
    elseif value then
      parts[#parts + 1] = varint(number * 8 + LENGTH_DELIMITED) .. varint(#value) .. value
    end
  end
  return table.concat(parts)
end

-- A gRPC message on the wire: a byte for the compression, which there is none of, four for the length, the message.
function M.frame(message)
  local n = #message
  return string.char(0, math.floor(n / 16777216) % 256, math.floor(n / 65536) % 256, math.floor(n / 256) % 256, n % 256)
    .. message
end

return M
