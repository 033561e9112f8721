-- is_json of rest.lua: it accepts JSON, and rejects invalid JSON that the transcoder accepts.
-- test/rest/json/bodies.test.ts covers what the transcoder rejects itself.

local harness = require("harness")

local test, equal, fresh = harness.test, harness.equal, harness.fresh

-- The places where JSON has a value.
local PLACES = { '{"x":%s}', '{"x": %s }', '{"x":%s,"y":1}', "[%s]", "[1,%s,2]", '{"a":{"b":[%s]}}' }

local function expect(is_valid, values)
  local is_json = fresh("rest").is_json
  for _, value in ipairs(values) do
    for _, place in ipairs(PLACES) do
      local text = place:gsub("%%s", function()
        return value
      end)
      equal(is_json(text), is_valid, text)
    end
  end
end

test("JSON - literals and numbers of every form are valid (RFC 8259, 3 and 6)", function()
  expect(true, { "true", "false", "null" })
  expect(true, { "0", "-0", "7", "-7", "10", "100", "9007199254740993", "-9223372036854775808" })
  expect(true, { "0.5", "-0.5", "1.0", "1.01", "10.001", "0.0", "1.50" })
  expect(true, { "1e5", "1E5", "1e+5", "1e-5", "1e05", "1e-05", "1E+00", "1.5e10", "0e0", "0.0e0", "-0.0E-0" })
end)

test("JSON - strings with any character and every escape are valid (RFC 8259, 7)", function()
  expect(true, { '""', '"a"', '"ünïcödé 🐈"', '"\127"', '"\226\128\168"', '"/"', '"it\'s"' })
  expect(true, { [["\""]], [["\\"]], [["\/"]], [["\b\f\n\r\t"]], [["\u0041\uD83D\uDC08\u0000"]] })
  expect(true, { [["\\\""]], [["\\\\"]], [["a\\"]], [["\\n"]], [["\\u"]], [["\\\\\""]] })
end)

test("JSON - what is invalid outside of a string is valid inside", function()
  expect(true, { '",]"', '",}"', '"a:"', '"{a:1}"', '"1."', '".5"', '"01"', '"0x1e"', '"\'"', '"[1,]"', '"//"' })
  expect(true, { [["\"a:"]], [["\",]"]], [["\\",{"a:":",}"}]] })
end)

test("JSON - white space is allowed between tokens (RFC 8259, 2)", function()
  local is_json = fresh("rest").is_json
  for _, text in ipairs({
    "{}",
    "[]",
    " {} ",
    "\t{\n}\r\n",
    '{ "a" : 1 , "b" : [ 1 , 2 ] }',
    '{"a"\n:\n1\n,\n"b"\t:\t"c"}',
    "{}\n",
    '\n"a"',
    '{\r\n  "name": "Tom",\r\n  "tags": []\r\n}\r\n',
    "true",
    "5",
    '"a"',
  }) do
    equal(is_json(text), true, text)
  end
end)

test("JSON - control characters are invalid in strings, and everywhere unless they are white space", function()
  for code = 0, 31 do
    local char = string.char(code)
    expect(false, { '"' .. char .. '"', '"a' .. char .. 'b"' })
    if not char:find("[\t\n\r]") then expect(false, { char .. "1", "1" .. char, char }) end
  end
  expect(false, { '"\\"\n"', '"\\\\\t"' })
end)

test("JSON - unknown escapes are invalid", function()
  expect(false, { [["\a"]], [["\q"]], [["\'"]], [["\v"]], [["\0"]], [["\x41"]], [["\U0041"]], [["\ "]], '"\\\n"' })
  expect(false, { [["\\\q"]], [["\\\'"]], [["\n\q"]] })
end)

test("JSON - single quotes are invalid", function()
  expect(false, { "'a'", "''", "{'a':1}", [['"']], [['a"b']], [["a",'b']], [["'",'"']] })
end)

test("JSON - keys without quotes are invalid", function()
  expect(false, { "{a:1}", "{ a : 1 }", '{"a":1,b:2}', "{a_1:1}", "{1:1}", "{true:1}", "{null : 1}", '{"a":{b:1}}' })
  expect(false, { "{:1}", "{a\n:1}" })
end)

test("JSON - a comma before a closing bracket is invalid", function()
  expect(false, { "[1,]", '{"a":1,}', "[1, ]", "[1,\n]", '{"a":1\t,\t}', "[[1],]", '{"a":"b",}', "[,]", "{,}" })
end)

test("JSON - a point without a digit before and after it is invalid", function()
  expect(false, { "1.", "-1.", "0.", "1.e5", "1. 5", "1..2", "-.5", "-.0", "-.5e3", ".5" })
end)

test("JSON - a number with a leading zero is invalid", function()
  expect(false, { "01.5", "00.5", "-01.5", "-00.5", "01e1", "00e1", "-01E1", "00", "01", "-01" })
end)

test("JSON - a hexadecimal number is invalid", function()
  expect(false, { "0x1e", "-0x1e", "0x1.8", "0x1" })
end)
