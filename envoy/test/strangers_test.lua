-- strangers.lua, and that the filters use it: who gets slots of their own.

local envoy = require("fake_envoy")
local harness = require("harness")
local tables = require("tables")

local test, equal, fresh = harness.test, harness.equal, harness.fresh
local HEADERS = tables.headers

local SLOTS = 10000

local function learn(strangers, address, seconds, now_ms)
  local script = function(handle) strangers.learn(handle, handle:headers()) end
  envoy.answer(script, { headers = { [HEADERS.suspect] = seconds }, address = address, now_ms = now_ms })
end

local function is_stranger(strangers, address, now_ms, authorization)
  local result
  local script = function(handle) result = strangers.is_stranger(handle, authorization) end
  envoy.request(script, { address = address, now_ms = now_ms })
  return result
end

test("strangers - are all who bring no key, and nobody else at first", function()
  local strangers = fresh("strangers")
  equal(is_stranger(strangers, "10.0.0.1:1", 0, nil), true)
  equal(is_stranger(strangers, "10.0.0.1:1", 0, "Bearer a"), false)
end)

test("strangers - are an address that the server suspects, whatever its port, until its time is over", function()
  for _, host in ipairs({ "10.0.0.1", "[2001:db8::1]" }) do
    local strangers = fresh("strangers")
    learn(strangers, host .. ":1", "30", 1000)
    equal(is_stranger(strangers, host .. ":2", 1000, "Bearer a"), true)
    equal(is_stranger(strangers, host .. ":2", 30999, "Bearer a"), true)
    equal(is_stranger(strangers, host .. ":2", 31000, "Bearer a"), false)
    equal(is_stranger(strangers, host .. ":2", 1000, "Bearer a"), false, "it is forgotten")
    equal(is_stranger(strangers, "10.0.0.2:1", 1000, "Bearer a"), false, "another address")
  end
end)

test("strangers - stay so for as long as the server said last", function()
  local strangers = fresh("strangers")
  learn(strangers, "10.0.0.1:1", "30", 0)
  learn(strangers, "10.0.0.1:1", "40", 20000)
  equal(is_stranger(strangers, "10.0.0.1:1", 59999, "Bearer a"), true)
end)

test("strangers - of an answer that suspects nobody there are none", function()
  local strangers = fresh("strangers")
  learn(strangers, "10.0.0.1:1", nil, 0)
  equal(is_stranger(strangers, "10.0.0.1:1", 0, "Bearer a"), false)
end)

test("strangers - are at most 10,000 addresses, each counted once, then it begins anew", function()
  local strangers = fresh("strangers")
  for _ = 1, 3 do
    for i = 1, SLOTS do learn(strangers, "host-" .. i .. ":1", "30", 0) end
  end
  equal(is_stranger(strangers, "host-1:1", 0, "Bearer a"), true)
  learn(strangers, "one more:1", "30", 0)
  equal(is_stranger(strangers, "host-1:1", 0, "Bearer a"), false)
  equal(is_stranger(strangers, "one more:1", 0, "Bearer a"), true)
end)

test("strangers - are routed anew, to slots of their own, and others are not", function()
  local rest = fresh("rest")
  local function send(authorization)
    local headers = { [":method"] = "GET", [":path"] = "/pets", authorization = authorization }
    local pass = envoy.request(rest.on_request, { headers = headers })
    return { mark = pass:header(HEADERS.stranger), anew = pass.is_route_cleared }
  end
  equal(send("Bearer a"), {})
  equal(send(nil), { mark = "1", anew = true })
  envoy.answer(rest.on_response, { headers = { [":status"] = "429", [HEADERS.suspect] = "30" } })
  equal(send("Bearer a"), { mark = "1", anew = true })
end)

test("strangers - are learned of from the server's errors, and from what it says of Envoy's refusals", function()
  local error = '{"code":"RATE_LIMITED","message":"too many","status":429}'
  local call = "GET /petstore.v1.PetService/GetPet /pets/7"
  for _, headers in ipairs({
    { [":status"] = "200", [HEADERS.request] = call, [HEADERS.error] = error, [HEADERS.suspect] = "30" },
    { [":status"] = "404", [HEADERS.refused] = "GET" },
  }) do
    local rest = fresh("rest")
    local server = function() return { [":status"] = "200", [HEADERS.error] = error, [HEADERS.suspect] = "30" } end
    envoy.answer(rest.on_response, { headers = headers, body = "", server = server })
    equal(is_stranger(require("strangers"), "10.0.0.1:1", 1000, "Bearer a"), true)
  end
end)

test("strangers - are asked about in slots of their own", function()
  local judge = fresh("judge")
  local function cluster(authorization)
    local headers = { [":method"] = "POST", ["content-length"] = "2", authorization = authorization }
    return envoy.request(judge.on_request, { headers = headers, body = "{}" }).calls[1].cluster
  end
  equal(cluster("Bearer a"), "petstore")
  equal(cluster(nil), "petstore_strangers")
  envoy.answer(judge.on_response, { headers = { [":status"] = "429", [HEADERS.suspect] = "30" } })
  equal(cluster("Bearer a"), "petstore_strangers")
end)
