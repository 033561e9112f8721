-- json.lua: by which fields a body is read. test/envoy/lua.test.ts has how.

local harness = require("harness")

local test, equal, fresh = harness.test, harness.equal, harness.fresh

test("bodies - a verb's is read by its own fields, beside that of the resource", function()
  local settings = fresh("settings")
  local inner = { name = "inner", type = "object", fields = {} }
  local bodies = { { path = "^/things/[^/]+/*$", name = "", type = "object", fields = { ['"inner"'] = inner } } }
  settings.bodies = { POST = bodies }
  for verb in ("abcdefgh"):gmatch(".") do
    table.insert(bodies, 1, { path = "^/things/[^/]+%:" .. verb .. "/*$", name = "", type = "object", fields = {} })
  end
  local read = require("json").read
  local text = '{"inner":{}}'
  equal({ read("POST", "/things/7", text) }, { nil, text })
  for verb in ("abcdefgh"):gmatch(".") do
    equal({ read("POST", "/things/7:" .. verb, text) }, { nil, '{"_":0}' }, verb)
  end
end)
