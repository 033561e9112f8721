-- known_keys.lua, and how the filters use it: which calls have the slots of anonymous callers.

local envoy = require("fake_envoy")
local harness = require("harness")
local tables = require("tables")

local test, equal, fresh = harness.test, harness.equal, harness.fresh
local HEADERS = tables.headers

local MAX_KEYS = 10000

local function send(rest, authorization, content_type)
  local headers = { [":method"] = "GET", [":path"] = "/pets", authorization = authorization }
  headers["content-type"] = content_type
  return envoy.request(rest.on_request, { headers = headers })
end

-- Sends the response to a request through the filter.
local function respond(rest, pass, headers)
  return envoy.response(rest.on_response, { headers = headers, metadata = pass.metadata, body = "{}" })
end

local function accepted(changes)
  local headers = { [":status"] = "200", [HEADERS.accepted] = "1" }
  for name, value in pairs(changes or {}) do
    headers[name] = value
  end
  return headers
end

local function is_anonymous(rest, authorization)
  local pass = send(rest, authorization)
  equal(pass.is_route_cleared, pass:header(HEADERS.anonymous) and true or nil)
  return pass:header(HEADERS.anonymous) == "1"
end

test("anonymous callers - are all whose key the server has not accepted yet", function()
  local rest = fresh("rest")
  equal(is_anonymous(rest, nil), true)
  equal(is_anonymous(rest, "Bearer a"), true)
  equal(is_anonymous(rest, "Bearer a"), true)
end)

test("anonymous callers - are known after the server has accepted the key, on REST and gRPC, also in errors", function()
  for _, headers in ipairs({
    accepted({ ["content-type"] = "application/grpc" }),
    accepted({ ["content-type"] = "application/grpc", ["grpc-status"] = "5" }),
    accepted({ ["content-type"] = "application/json", ["content-length"] = "2" }),
    accepted({ ["content-type"] = "application/json", [HEADERS.length] = "2" }), -- to HEAD
    accepted({ ["content-type"] = "application/json", [":status"] = "404" }),
    accepted({ [":status"] = "204" }),
    accepted({ [":status"] = "304" }),
  }) do
    local rest = fresh("rest")
    respond(rest, send(rest, "Bearer a"), headers)
    equal(is_anonymous(rest, "Bearer a"), false)
    equal(is_anonymous(rest, "Bearer b"), true, "another key")
    equal(is_anonymous(rest, nil), true, "no key")
  end
end)

test("anonymous callers - do not see the header of an accepted key, and get the response unchanged", function()
  for _, authorization in ipairs({ "Bearer a", false }) do
    for _, status in ipairs({ "200", "404" }) do
      local rest = fresh("rest")
      local pass = respond(rest, send(rest, authorization or nil), accepted({ [":status"] = status }))
      equal(pass:header(HEADERS.accepted), nil)
      equal({ pass:header(":status"), pass.body, pass.yields }, { status, "{}", 0 })
    end
  end
end)

test("anonymous callers - stay anonymous if the server does not accept the key", function()
  local rest = fresh("rest")
  respond(rest, send(rest, "Bearer a"), { [":status"] = "200" })
  equal(is_anonymous(rest, "Bearer a"), true)
end)

test("anonymous callers - without a key stay anonymous, whatever the server responds", function()
  local rest = fresh("rest")
  respond(rest, send(rest, nil), accepted())
  equal(is_anonymous(rest, nil), true)
end)

test("known keys - a request with a known key, or with none, saves nothing", function()
  local rest = fresh("rest")
  equal(send(rest, nil).metadata, {})
  respond(rest, send(rest, "Bearer a", "application/grpc"), accepted())
  equal(send(rest, "Bearer a").metadata, {})
end)

test("known keys - are at most 10,000, each counted once, then none", function()
  local known_keys = fresh("known_keys")
  for _ = 1, 3 do
    for i = 1, MAX_KEYS do
      known_keys.learn("key-" .. i)
    end
  end
  equal(known_keys.is_known("key-1"), true)
  known_keys.learn("one more")
  equal(known_keys.is_known("key-1"), false)
  equal(known_keys.is_known("one more"), true)
end)

test("known keys - calls about other keys use the slots of anonymous callers", function()
  local judge = fresh("judge")
  local function cluster(authorization)
    local headers = { [":method"] = "POST", ["content-length"] = "2", authorization = authorization }
    return envoy.request(judge.on_request, { headers = headers, body = "{}" }).calls[1].cluster
  end
  equal(cluster("Bearer a"), "petstore_anonymous")
  equal(cluster(nil), "petstore_anonymous")
end)

test("known keys - a call for an error uses the slots of its caller", function()
  local rest = fresh("rest")
  local function cluster(authorization)
    local headers = {
      [":status"] = "400",
      [HEADERS.refused] = "GET",
      [HEADERS.refused .. "-authorization"] = authorization,
    }
    return envoy.response(rest.on_response, { headers = headers, body = "words" }).calls[1].cluster
  end
  equal(cluster("Bearer a"), "petstore_anonymous")
  respond(rest, send(rest, "Bearer a"), accepted())
  equal(cluster("Bearer a"), "petstore")
end)
