-- What questions.lua sends, for a decoder to read. Each line of the input is a question: its name, then its values as
-- field=hexadecimal, a number as field#decimal. Each line of the output is what was sent, hexadecimal.

package.path = "envoy/?.lua;gen/edge/?.lua;envoy/test/?.lua"

local envoy = require("fake_envoy")
local questions = require("questions")

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
    questions.ask(handle, name, values, {})
  end, {})
  print(to_hex(pass.calls[1].message))
end
