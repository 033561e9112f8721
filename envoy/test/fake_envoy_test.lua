-- The fake itself: that it is as strict as Envoy where a filter could be wrong.

local envoy = require("fake_envoy")
local harness = require("harness")

local test, equal = harness.test, harness.equal

local CALL = { [":method"] = "POST", [":path"] = "/", [":authority"] = "petstore" }

local function fails(problem, script, message)
  local is_fine, words = pcall(envoy.request, script, message)
  equal(is_fine, false, problem)
  equal(words:find(problem, 1, true) ~= nil, true, words)
end

local function answers() return { [":status"] = "200" } end

test("the fake Envoy - lets no object of the handle outlive a wait", function()
  local waits = {
    function(handle) handle:body() end,
    function(handle) handle:httpCall("petstore", CALL, "", {}) end,
  }
  local uses = {
    function(handle) local headers = handle:headers() return function() headers:get("a") end end,
    function(handle) local info = handle:streamInfo() return function() info:protocol() end end,
    function(handle) local map = handle:streamInfo():dynamicMetadata() return function() map:get("a") end end,
  }
  for _, wait in ipairs(waits) do
    for _, use in ipairs(uses) do
      local script = function(handle)
        local later = use(handle)
        wait(handle)
        later()
      end
      fails("object used outside of proper scope", script, { body = "x", server = answers })
    end
  end
end)

test("the fake Envoy - gives no body after a wait for an answer, unless it was asked for before", function()
  local late = function(handle)
    handle:httpCall("petstore", CALL, "", {})
    handle:body()
  end
  fails("cannot call body() after body has been streamed", late, { body = "x", server = answers })
  local early = function(handle)
    handle:body()
    handle:httpCall("petstore", CALL, "", {})
    handle:headers():replace("a", handle:body():getBytes(0, 1))
  end
  equal(envoy.request(early, { body = "x", server = answers }):header("a"), "x")
end)

test("the fake Envoy - ends a script that replies, and takes a reply to a request alone", function()
  local script = function(handle)
    handle:respond({ [":status"] = "400" }, "")
    error("not the end")
  end
  equal(envoy.request(script, {}).reply.headers[":status"], "400")
  equal(pcall(envoy.answer, script, {}), false)
end)
