-- is_json of rest.lua: what is JSON passes, and what the transcoder would take for it does not. What the transcoder
-- refuses itself is no matter here: test/rest/json/bodies.test.ts has such texts too, on the real one.

local harness = require("harness")

local test, equal, fresh = harness.test, harness.equal, harness.fresh

-- A value at each place where JSON has values.
local PLACES = { '{"x":%s}', '{"x": %s }', '{"x":%s,"y":1}', "[%s]", "[1,%s,2]", '{"a":{"b":[%s]}}' }

local function expect(is_right, values)
  local is_json = fresh("rest").is_json
  for _, value in ipairs(values) do
    for _, place in ipairs(PLACES) do
      local text = place:gsub("%%s", function()
        return value
      end)
      equal(is_json(text), is_right, text)
    end
  end
end

test("JSON - literals and numbers of every form pass (RFC 8259, 3 and 6)", function()
  expect(true, { "true", "false", "null" })
  expect(true, { "0", "-0", "7", "-7", "10", "100", "9007199254740993", "-9223372036854775808" })
  expect(true, { "0.5", "-0.5", "1.0", "1.01", "10.001", "0.0", "1.50" })
  expect(true, { "1e5", "1E5", "1e+5", "1e-5", "1e05", "1e-05", "1E+00", "1.5e10", "0e0", "0.0e0", "-0.0E-0" })
end)

test("JSON - strings with any character and every escape pass (RFC 8259, 7)", function()
  expect(true, { '""', '"a"', '"ünïcödé 🐈"', '"\127"', '"\226\128\168"', '"/"', '"it\'s"' })
  expect(true, { [["\""]], [["\\"]], [["\/"]], [["\b\f\n\r\t"]], [["\u0041\uD83D\uDC08\u0000"]] })
  expect(true, { [["\\\""]], [["\\\\"]], [["a\\"]], [["\\n"]], [["\\u"]], [["\\\\\""]] })
end)

test("JSON - what is wrong outside of a string is right inside", function()
  expect(true, { '",]"', '",}"', '"a:"', '"{a:1}"', '"1."', '".5"', '"01"', '"0x1e"', '"\'"', '"[1,]"', '"//"' })
  expect(true, { [["\"a:"]], [["\",]"]], [["\\",{"a:":",}"}]] })
end)

test("JSON - white space is free between tokens (RFC 8259, 2)", function()
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

test("JSON - control characters are wrong in strings, and all but white space everywhere", function()
  for code = 0, 31 do
    local char = string.char(code)
    expect(false, { '"' .. char .. '"', '"a' .. char .. 'b"' })
    if not char:find("[\t\n\r]") then expect(false, { char .. "1", "1" .. char, char }) end
  end
  expect(false, { '"\\"\n"', '"\\\\\t"' })
end)

test("JSON - unknown escapes are wrong", function()
  expect(false, { [["\a"]], [["\q"]], [["\'"]], [["\v"]], [["\0"]], [["\x41"]], [["\U0041"]], [["\ "]], '"\\\n"' })
  expect(false, { [["\\\q"]], [["\\\'"]], [["\n\q"]] })
end)

test("JSON - single quotes are wrong", function()
  expect(false, { "'a'", "''", "{'a':1}", [['"']], [['a"b']], [["a",'b']], [["'",'"']] })
end)

test("JSON - keys without quotes are wrong", function()
  expect(false, { "{a:1}", "{ a : 1 }", '{"a":1,b:2}', "{a_1:1}", "{1:1}", "{true:1}", "{null : 1}", '{"a":{b:1}}' })
  expect(false, { "{:1}", "{a\n:1}" })
end)

test("JSON - a comma before a closing bracket is wrong", function()
  expect(false, { "[1,]", '{"a":1,}', "[1, ]", "[1,\n]", '{"a":1\t,\t}', "[[1],]", '{"a":"b",}', "[,]", "{,}" })
end)

test("JSON - a point without a digit before and after it is wrong", function()
  expect(false, { "1.", "-1.", "0.", "1.e5", "1. 5", "1..2", "-.5", "-.0", "-.5e3", ".5" })
end)

test("JSON - a number that begins with a further zero is wrong", function()
  expect(false, { "01.5", "00.5", "-01.5", "-00.5", "01e1", "00e1", "-01E1", "00", "01", "-01" })
end)

test("JSON - a hexadecimal number is wrong", function()
  expect(false, { "0x1e", "-0x1e", "0x1.8", "0x1" })
end)
