-- The fake is as strict as Envoy where a filter could be wrong.

local envoy = require("fake_envoy")
local harness = require("harness")

local test, equal = harness.test, harness.equal

local CALL = { [":method"] = "POST", [":path"] = "/", [":authority"] = "petstore" }

local function fails(problem, script, message)
  local is_fine, actual = pcall(envoy.request, script, message)
  equal(is_fine, false, problem)
  equal(actual:find(problem, 1, true) ~= nil, true, actual)
end

local function success()
  return { [":status"] = "200" }
end

local function calls(handle)
  handle:httpCall("petstore", CALL, "", {})
end

-- Checks that the function that `use` returns works before a suspension, and fails after it.
local function expires(use, wait)
  local script = function(is_late)
    return function(handle)
      local later = use(handle)
      if not is_late then later() end
      wait(handle)
      if is_late then later() end
    end
  end
  envoy.request(script(false), { body = "x", trailers = { a = "1" }, server = success })
  fails("object used outside of proper scope", script(true), { body = "x", trailers = { a = "1" }, server = success })
end

test("the fake Envoy - invalidates the objects of the handle when the script is suspended", function()
  local waits = {
    function(handle)
      handle:body()
    end,
    function(handle)
      handle:trailers()
    end,
    calls,
  }
  local uses = {
    function(handle)
      local headers = handle:headers()
      return function()
        headers:get("a")
      end
    end,
    function(handle)
      local info = handle:streamInfo()
      return function()
        info:protocol()
      end
    end,
    function(handle)
      local map = handle:streamInfo():dynamicMetadata()
      return function()
        map:get("a")
      end
    end,
  }
  for _, wait in ipairs(waits) do
    for _, use in ipairs(uses) do
      expires(use, wait)
    end
  end
end)

test("the fake Envoy - invalidates body and trailers when the script is suspended, for reads and writes", function()
  local uses = {
    function(handle)
      local body = handle:body()
      return function()
        body:length()
      end
    end,
    function(handle)
      local body = handle:body()
      return function()
        body:getBytes(0, 1)
      end
    end,
    function(handle)
      local body = handle:body(true)
      return function()
        body:setBytes("y")
      end
    end,
    function(handle)
      local trailers = handle:trailers()
      return function()
        trailers:remove("a")
      end
    end,
  }
  for _, use in ipairs(uses) do
    expires(use, calls)
  end
end)

test("the fake Envoy - returns headers and body of the response to a call, and nil for an empty body", function()
  for body, given in pairs({ ["\0\n\255"] = "\0\n\255", [""] = "none" }) do
    local headers, text
    local script = function(handle)
      headers, text = handle:httpCall("petstore", CALL, "", {})
    end
    envoy.request(script, {
      server = function()
        return success(), body
      end,
    })
    equal({ headers, text or "none" }, { { [":status"] = "200" }, given })
    headers, text = nil, nil
    envoy.request(script, {}):respond(success(), body)
    equal({ headers, text or "none" }, { { [":status"] = "200" }, given }, "from the test")
  end
end)

test("the fake Envoy - gives no body after a call, unless the script read it before the call", function()
  local late = function(handle)
    handle:httpCall("petstore", CALL, "", {})
    handle:body()
  end
  fails("cannot call body() after body has been streamed", late, { body = "x", server = success })
  local early = function(handle)
    handle:body()
    handle:httpCall("petstore", CALL, "", {})
    handle:headers():replace("a", handle:body():getBytes(0, 1))
  end
  equal(envoy.request(early, { body = "x", server = success }):header("a"), "x")
end)

test("the fake Envoy - ends a script that responds, and allows that for requests only", function()
  local script = function(handle)
    handle:respond({ [":status"] = "400" }, "")
    error("not the end")
  end
  equal(envoy.request(script, {}).reply.headers[":status"], "400")
  equal(pcall(envoy.response, script, {}), false)
end)
