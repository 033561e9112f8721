-- json.lua: it accepts JSON, and rejects everything else. test/edge/bodies.test.ts has the fields of bodies.

local harness = require("harness")

local test, equal, fresh = harness.test, harness.equal, harness.fresh

-- The places where JSON has a value.
local PLACES = { '{"x":%s}', '{"x": %s }', '{"x":%s,"y":1}', "[%s]", "[1,%s,2]", '{"a":{"b":[%s]}}' }

local function expect(title, is_valid, values)
  test("JSON - " .. title, function()
    local read = fresh("json").read
    for _, value in ipairs(values) do
      for _, place in ipairs(PLACES) do
        local text = place:gsub("%%s", function()
          return value
        end)
        equal(read("POST", "/", text) == nil, is_valid, text)
      end
    end
  end)
end

local function all(...)
  local joined = {}
  for _, values in ipairs({ ... }) do
    for _, value in ipairs(values) do
      joined[#joined + 1] = value
    end
  end
  return joined
end

local NUMBERS = { "true", "null", "0", "-0", "7", "-7", "100", "-9223372036854775808", "0.5", "-0.5", "1.01", "10.001" }
local EXPONENTS = { "1e5", "1E+5", "1e-05", "1.5e10", "0e0", "0.0e0", "-0.0E-0" }
expect("literals and numbers of every form are valid (RFC 8259, 3 and 6)", true, all(NUMBERS, EXPONENTS))

local TEXTS = { '""', '"a"', '"ünïcödé 🐈"', '"\127"', '"\226\128\168"', '"/"', '"it\'s"' }
local ESCAPES = { [["\"\\\/\b\f\n\r\t"]], [["\u0041\uD83D\uDC08\u0000"]], [["\\\""]], [["a\\"]], [["\\n"]], [["\\u"]] }
expect("strings with any character and every escape are valid (RFC 8259, 7)", true, all(TEXTS, ESCAPES))

local INSIDE = { '",]"', '",}"', '"a:"', '"{a:1}"', '"1."', '".5"', '"01"', '"0x1e"', '"\'"', '"//"', [["\"a:"]] }
expect("what is invalid outside of a string is valid inside", true, INSIDE)

local SPACED = { ' { "a" : 1 , "b" : [ 1 , 2 ] } ', '\t{"a"\n:\n1\n,\n"b"\t:\t"c"}\r\n', "{}", "[]", "{\n}" }
expect("white space is allowed between tokens (RFC 8259, 2)", true, SPACED)

local CONTROLS = { '"\\"\n"', '"\\\\\t"' }
for code = 0, 31 do
  local char = string.char(code)
  CONTROLS[#CONTROLS + 1] = '"a' .. char .. 'b"'
  if not char:find("[\t\n\r]") then CONTROLS[#CONTROLS + 1] = char .. "1" end
end
expect("control characters are invalid in strings, and everywhere unless they are white space", false, CONTROLS)

local UNKNOWN = { [["\a"]], [["\q"]], [["\'"]], [["\v"]], [["\0"]], [["\x41"]], [["\U0041"]], [["\ "]], '"\\\n"' }
expect("unknown escapes are invalid", false, all(UNKNOWN, { [["\\\q"]], [["\\\'"]], [["\n\q"]] }))

expect("single quotes are invalid", false, { "'a'", "''", "{'a':1}", [['"']], [['a"b']], [["a",'b']], [["'",'"']] })

local KEYS = { "{a:1}", "{ a : 1 }", '{"a":1,b:2}', "{a_1:1}", "{1:1}", "{true:1}", '{"a":{b:1}}', "{:1}", "{a\n:1}" }
expect("keys without quotes are invalid", false, KEYS)

local COMMAS = { "[1,]", '{"a":1,}', "[1, ]", "[1,\n]", '{"a":1\t,\t}', "[[1],]", '{"a":"b",}', "[,]", "{,}" }
expect("a comma before a closing bracket is invalid", false, COMMAS)

local POINTS = { "1.", "-1.", "0.", "1.e5", "1. 5", "1..2", "-.5", "-.0", "-.5e3", ".5" }
expect("a point without a digit before and after it is invalid", false, POINTS)

local ZEROS = { "01.5", "-00.5", "01e1", "-01E1", "00", "01", "-01", "0x1e", "-0x1e", "0x1.8" }
expect("a number with a leading zero, and a hexadecimal one, is invalid", false, ZEROS)
