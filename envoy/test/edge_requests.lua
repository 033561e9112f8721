-- Prints the requests that edge_service.lua sends, in hexadecimal, one per line. Each line of the input is a request:
-- the method's name, then field=hexadecimal for bytes and field#decimal for numbers.

package.path = "envoy/?.lua;envoy/test/?.lua"

local envoy = require("fake_envoy")
local edge_service = require("edge_service")

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
  local name, values = line:match("^%w+"), {}
  for field, kind, value in line:gmatch("([%w_]+)([=#])(%w*)") do
    values[field] = kind == "=" and from_hex(value) or tonumber(value)
  end
  local pass = envoy.request(function(handle)
    edge_service.call(handle, name, values, {})
  end, {})
  print(to_hex(pass.calls[1].message))
end
