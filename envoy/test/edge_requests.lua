-- Prints requests of EdgeService as the filters send them, in hexadecimal, one per line. Each line of the input is a
-- request: the method's name, then field=hexadecimal for bytes and field#decimal for numbers.

package.path = "envoy/?.lua"

local grpc_message = require("grpc_message")
local settings = require("settings")

local function from_hex(text)
  return (text:gsub("%x%x", function(byte)
    return string.char(tonumber(byte, 16))
  end))
end

local function to_hex(text)
  return (text:gsub(".", function(char)
    return ("%02x"):format(char:byte())
  end))
end

for line in io.lines() do
  local method, values = settings.edge_methods[line:match("^%w+")], {}
  for field, kind, value in line:gmatch("([%w_]+)([=#])(%w*)") do
    values[field] = kind == "=" and from_hex(value) or tonumber(value)
  end
  print(to_hex(grpc_message.frame(grpc_message.encode(method.fields, values))))
end
