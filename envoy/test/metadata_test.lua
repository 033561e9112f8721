-- metadata.lua: how the filter changes a request that gRPC can't represent.

local envoy = require("fake_envoy")
local harness = require("harness")

local test, equal, fresh = harness.test, harness.equal, harness.fresh

local TYPES = { "application/json", "application/proto", "application/grpc", "application/grpc-web", false }

-- Sends a request through the filter. `changes` replace headers; false removes one.
local function request(changes, body)
  local headers = { [":method"] = "POST", [":path"] = "/pets", ["content-type"] = "application/json" }
  for name, value in pairs(changes or {}) do
    headers[name] = value or nil
  end
  return envoy.request(fresh("metadata").on_request, { headers = headers, body = body })
end

test("an idempotency key - passes unchanged, or is replaced by a rejected one if metadata can't carry it", function()
  local keys = {
    ["a key"] = "a key",
    ["!~"] = "!~",
    [""] = "",
    ["\195\169"] = ",",
    ["a\tb"] = ",",
    ["\233"] = ",",
    ["a\127"] = ",",
  }
  for key, expected in pairs(keys) do
    for _, content_type in ipairs(TYPES) do
      for _, body in ipairs({ "{}", false }) do
        local pass = request({ ["idempotency-key"] = key, ["content-type"] = content_type }, body or nil)
        equal(pass:header("idempotency-key"), expected)
        equal({ pass.yields, pass.reply == nil }, { 0, true })
      end
    end
  end
  equal(request():header("idempotency-key"), nil)
end)

test("an idempotency key - of several lines is replaced if metadata can't carry one of them", function()
  local script = function(handle)
    handle:headers():add("idempotency-key", "\195\169")
    fresh("metadata").on_request(handle)
  end
  local headers = { [":method"] = "POST", [":path"] = "/pets", ["idempotency-key"] = "a" }
  equal(envoy.request(script, { headers = headers }):header("idempotency-key"), ",")
end)

test("a request - has the lines of a condition as one list, in bytes that metadata can carry", function()
  for _, name in ipairs({ "if-match", "if-none-match" }) do
    for _, content_type in ipairs(TYPES) do
      local script = function(handle)
        handle:headers():add(name, 'W/"b\195\169\233"')
        fresh("metadata").on_request(handle)
      end
      local headers = { [":method"] = "GET", [":path"] = "/pets/7", [name] = '\t"a"' }
      headers["content-type"] = content_type or nil
      local pass = envoy.request(script, { headers = headers })
      local lines = {}
      for _, header in ipairs(pass.header_list) do
        if header[1] == name then lines[#lines + 1] = header[2] end
      end
      equal(lines, { ' "a",W/"b???"' })
    end
    equal(request():header(name), nil)
  end
end)

test("a request - with CONNECT, which has no path, is a 404", function()
  local pass = request({ [":method"] = "CONNECT", [":path"] = false, ["content-type"] = false })
  equal(pass.reply, { headers = { [":status"] = "404" }, body = "" })
end)

test("a request - that gRPC can represent passes unchanged, with all headers, and its body is not read", function()
  for _, content_type in ipairs(TYPES) do
    local pass = request({ ["content-type"] = content_type, ["x-other"] = "\t\195\169" }, "{}")
    equal({ pass:header("x-other"), pass:header("content-type") }, { "\t\195\169", content_type or nil })
    equal({ pass.yields, #pass.calls, pass.body, pass.reply == nil }, { 0, 0, "{}", true })
  end
end)

test("a metadata value - keeps each byte that metadata can carry, and its length", function()
  local printable = fresh("metadata").printable
  for byte = 0, 255 do
    local char = string.char(byte)
    local expected = byte == 9 and " " or (byte >= 32 and byte <= 126) and char or "?"
    equal({ printable("a" .. char .. "b") }, { "a" .. expected .. "b" }, byte)
  end
end)
