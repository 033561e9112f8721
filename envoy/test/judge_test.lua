-- judge.lua: when the filter asks the server about a caller, and what a refused caller gets.

local envoy = require("fake_envoy")
local harness = require("harness")
local tables = require("tables")

local test, equal, fresh = harness.test, harness.equal, harness.fresh
local HEADERS = tables.headers

local REFUSED = '{"code":"API_KEY_INVALID","message":"the API key is not valid","status":401}'
local MAX_KEYS = 10000

-- An empty gRPC message.
local function accepts()
  return { [":status"] = "200", ["content-type"] = "application/grpc" }, "\0\0\0\0\0"
end

local function refuses()
  return {
    [":status"] = "401",
    ["content-type"] = "application/json",
    ["content-length"] = tostring(#REFUSED),
    date = "now",
    server = "petstore",
    ["x-envoy-upstream-service-time"] = "1",
    ["www-authenticate"] = "Bearer",
    [HEADERS.code] = "API_KEY_INVALID",
    [HEADERS.grpc_status] = "16",
  },
    REFUSED
end

-- The headers of a POST with a body and this key. `changes` replace headers; false removes one.
local function post(key, changes)
  local headers = {
    [":method"] = "POST",
    [":path"] = "/pets",
    ["content-type"] = "application/json",
    ["content-length"] = "2",
    ["x-forwarded-for"] = "10.0.0.1",
    ["x-request-id"] = "id-1",
    authorization = key and "Bearer " .. key,
  }
  for name, value in pairs(changes or {}) do
    headers[name] = value or nil
  end
  return headers
end

local function send(judge, headers, server, protocol)
  return envoy.request(judge.on_request, { headers = headers, body = "{}", server = server, protocol = protocol })
end

-- The number of calls to the server for a request.
local function count_calls(judge, headers, protocol)
  return #send(judge, headers, accepts, protocol).calls
end

-- Sends the response to a request with a body through the filter.
local function respond(judge, status, key)
  local saved = key and { ["petstore.rest"] = { request = { authorization = "Bearer " .. key } } }
  return envoy.response(judge.on_response, { headers = { [":status"] = status }, metadata = saved, body = "{}" })
end

test("judge - sends the server only the caller's headers, and lets an accepted caller pass", function()
  local pass = send(fresh("judge"), post("a"), accepts)
  equal(#pass.calls, 1)
  equal(pass.calls[1].cluster, "petstore_anonymous")
  equal(pass.calls[1].message, "\0\0\0\0\0")
  equal(pass.calls[1].headers, {
    [":method"] = "POST",
    [":path"] = "/petstore.edge.v1.EdgeService/Judge",
    [":authority"] = "petstore",
    ["content-type"] = "application/grpc",
    te = "trailers",
    authorization = "Bearer a",
    ["x-forwarded-for"] = "10.0.0.1",
    ["x-request-id"] = "id-1",
    ["x-envoy-retry-on"] = tables.retries.on,
    ["x-envoy-max-retries"] = tostring(tables.retries.times),
  })
  equal(pass.calls[1].options, { timeout_ms = tables.call_timeout_ms, send_xff = false })
  equal(pass.reply, nil)
end)

test("judge - calls the server before it reads the body", function()
  local pass = envoy.request(fresh("judge").on_request, { headers = post("a"), body = "{}" })
  equal(#pass.calls, 1)
  equal(pass.yields, 1)
end)

test("judge - calls the server once for an accepted key", function()
  local judge = fresh("judge")
  equal(count_calls(judge, post("a")), 1)
  equal(count_calls(judge, post("a")), 0)
  equal(count_calls(judge, post("a", { [":method"] = "PUT", [":path"] = "/pets/7" })), 0)
  equal(count_calls(judge, post("b")), 1, "another key")
end)

test("judge - calls the server each time for a refused key", function()
  local judge = fresh("judge")
  equal(#send(judge, post("a"), refuses).calls, 1)
  equal(#send(judge, post("a"), refuses).calls, 1)
end)

test("judge - a refused caller gets the server's error at once, without the headers of the transport", function()
  local pass = send(fresh("judge"), post("a"), refuses)
  equal(pass.reply.headers, {
    [":status"] = "401",
    ["www-authenticate"] = "Bearer",
    [HEADERS.worded] = "1",
    [HEADERS.code] = "API_KEY_INVALID",
    [HEADERS.grpc_status] = "16",
  })
  equal(pass.reply.body, REFUSED)
end)

test("judge - a refused caller gets the server's status, whatever the error's text contains", function()
  local error = '{"code":"X","message":"he said {\\"status\\":200}","status":400}'
  for _, status in ipairs({ "401", "403", "429", "500", "503" }) do
    local pass = send(fresh("judge"), post("a"), function()
      return { [":status"] = status, ["content-type"] = "application/json" }, error
    end)
    equal({ pass.reply.headers[":status"], pass.reply.body }, { status, error })
  end
end)

test("judge - calls the server for a caller without a key too", function()
  local pass = send(fresh("judge"), post(nil), refuses)
  equal(pass.calls[1].headers.authorization, nil)
  equal(pass.reply.headers[":status"], "401")
end)

test("judge - an unreachable server is a 503 with Retry-After", function()
  local responses = { -- of Envoy, for an unreachable server
    { [":status"] = "200", ["grpc-status"] = "14", ["grpc-message"] = "no healthy upstream" },
    { [":status"] = "503" },
    { [":status"] = "503", ["content-length"] = "16", ["content-type"] = "text/plain" },
  }
  for i, response in ipairs(responses) do
    local judge = fresh("judge")
    local pass = send(judge, post("a"), function()
      return response, i > 1 and "upstream failure" or nil
    end)
    equal(pass.reply.headers, {
      [":status"] = "503",
      ["retry-after"] = "1",
      [HEADERS.worded] = "1",
      [HEADERS.code] = "UNAVAILABLE",
      [HEADERS.grpc_status] = "14",
    })
    equal(pass.reply.body, tables.unavailable)
    equal(count_calls(judge, post("a")), 1, "is not taken for accepted")
  end
end)

test("judge - a response after the timeout is a 504", function()
  for late_by, status in pairs({ [-200] = "503", [-1] = "504", [0] = "504", [1] = "504" }) do
    local pass = send(fresh("judge"), post("a"), function(_, pass)
      pass.now_ms = pass.now_ms + tables.call_timeout_ms + late_by
      return { [":status"] = "200", ["grpc-status"] = "4" }
    end)
    local headers, is_late = pass.reply.headers, status == "504"
    equal(headers[":status"], status, "late by " .. late_by)
    equal(pass.reply.body, is_late and tables.deadline_exceeded or tables.unavailable)
    equal(headers[HEADERS.code], is_late and "DEADLINE_EXCEEDED" or "UNAVAILABLE")
    equal({ headers[HEADERS.grpc_status], headers[HEADERS.worded] }, { is_late and "4" or "14", "1" })
    equal({ later = headers["retry-after"] }, { later = not is_late and "1" or nil })
  end
end)

test("judge - does not call the server for a request without a body", function()
  for _, protocol in ipairs({ "HTTP/1.0", "HTTP/1.1", "HTTP/2" }) do
    equal(count_calls(fresh("judge"), post("a", { ["content-length"] = "0" }), protocol), 0)
  end
end)

test("judge - a body is expected with a length, and without one", function()
  for _, protocol in ipairs({ "HTTP/1.0", "HTTP/1.1", "HTTP/2" }) do
    equal(count_calls(fresh("judge"), post("a"), protocol), 1)
    equal(count_calls(fresh("judge"), post("a", { ["content-length"] = false }), protocol), 1)
  end
end)

test("judge - gRPC and gRPC-Web pass unchanged", function()
  local types = {
    "application/grpc",
    "application/grpc+proto",
    "application/grpc+json",
    "application/grpc-web",
    "application/grpc-web+proto",
    "application/grpc-web-text",
    "application/grpc-web-text+proto",
  }
  for _, content_type in ipairs(types) do
    for _, protocol in ipairs({ "HTTP/1.1", "HTTP/2" }) do
      local judge = fresh("judge")
      equal(count_calls(judge, post(nil, { ["content-type"] = content_type }), protocol), 0, content_type)
    end
  end
end)

test("judge - calls the server for a body of any type or none, also if the type has a prefix of gRPC's", function()
  local types = {
    "text/plain",
    "application/x-www-form-urlencoded",
    "",
    false,
    "application/grpcx",
    "application/grpc-foo",
    "application/grpc; x=y",
    "application/grpc-webx",
    "application/grpc-web+json",
  }
  for _, content_type in ipairs(types) do
    equal(count_calls(fresh("judge"), post("a", { ["content-type"] = content_type })), 1, tostring(content_type))
  end
end)

test("judge - forgets a key when the server responds 401 or 429, and then calls the server again", function()
  for _, status in ipairs({ "401", "429" }) do
    local judge = fresh("judge")
    send(judge, post("a"), accepts)
    send(judge, post("b"), accepts)
    respond(judge, status, "a")
    equal(count_calls(judge, post("b")), 0, "the other key")
    equal(count_calls(judge, post("a")), 1, status)
  end
end)

test("judge - remembers a key after any other response", function()
  local judge = fresh("judge")
  send(judge, post("a"), accepts)
  for _, status in ipairs({ "200", "201", "400", "403", "404", "409", "412", "413", "500", "503", "504" }) do
    respond(judge, status, "a")
    equal(count_calls(judge, post("a")), 0, status)
  end
end)

test("judge - a response without a known key forgets no key", function()
  local judge = fresh("judge")
  respond(judge, "401", "a") -- nothing to forget yet
  send(judge, post("a"), accepts)
  respond(judge, "401", nil) -- the request had no body
  respond(judge, "401", "unknown")
  envoy.response(judge.on_response, { -- it had no key
    headers = { [":status"] = "401" },
    metadata = { ["petstore.rest"] = { request = {} } },
  })
  equal(count_calls(judge, post("a")), 0)
end)

test("judge - remembers 10,000 keys, then starts again with none", function()
  local judge = fresh("judge")
  for i = 1, MAX_KEYS do
    send(judge, post("key-" .. i), accepts)
  end
  equal(count_calls(judge, post("key-1")), 0, "the first of 10,000")
  equal(count_calls(judge, post("key-" .. MAX_KEYS)), 0, "the last of them")
  equal(count_calls(judge, post("one more")), 1)
  equal(count_calls(judge, post("key-" .. MAX_KEYS)), 1, "after one more")
  equal(count_calls(judge, post("one more")), 0)
end)

test("judge - a forgotten key makes room for exactly one other", function()
  local judge = fresh("judge")
  for i = 1, MAX_KEYS do
    send(judge, post("key-" .. i), accepts)
  end
  for _ = 1, 3 do
    respond(judge, "401", "key-1")
  end
  send(judge, post("one more"), accepts)
  equal(count_calls(judge, post("key-2")), 0)
  send(judge, post("two more"), accepts)
  equal(count_calls(judge, post("key-2")), 1)
end)

test("judge - a key of several concurrent requests counts once", function()
  local judge = fresh("judge")
  local passes = {}
  for i = 1, 100 do
    passes[i] = send(judge, post("a"))
  end
  for _, pass in ipairs(passes) do
    pass:respond(accepts())
  end
  for i = 2, MAX_KEYS do
    send(judge, post("key-" .. i), accepts)
  end
  equal(count_calls(judge, post("a")), 0)
end)
