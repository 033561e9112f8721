-- rest.lua: what it changes in a request's path.

local harness = require("harness")
local settings = require("settings")

local test, equal, fresh = harness.test, harness.equal, harness.fresh

test("verbs - have no slashes behind them for the transcoder, and every other path stays as it came", function()
  local function path_after(path, verbs)
    settings.verbs = verbs or { [":close"] = true, [":batchGet"] = true }
    local headers = {
      get = function()
        return path
      end,
      replace = function(_, name, value)
        equal(name, ":path")
        path = value
      end,
    }
    fresh("rest").on_request({
      headers = function()
        return headers
      end,
      body = function() end,
    })
    return path
  end
  equal(path_after("/things/7:close//?at=a:b/"), "/things/7:close?at=a:b/")
  equal(path_after("/things:batchGet/"), "/things:batchGet")
  equal(path_after("/things/a:b:close/"), "/things/a:b:close")
  equal(path_after("/things/7:close/", {}), "/things/7:close/", "there are no verbs")
  for _, path in ipairs({
    "/things/7:close",
    "/things/7/?at=a:b/",
    "/things/7:close/parts/",
    "/a:b//",
    ":/",
    "/:close:/",
  }) do
    equal(path_after(path), path)
  end
end)
