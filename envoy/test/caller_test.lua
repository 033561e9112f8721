-- caller.lua: which requests pass, when the filter asks the server about a caller, and what a refused caller gets.

local envoy = require("fake_envoy")
local harness = require("harness")
local settings = require("settings")

local test, equal, fresh = harness.test, harness.equal, harness.fresh
local HEADERS = settings.headers

local REFUSED = '{"code":"API_KEY_INVALID","message":"the API key is not valid","status":401}'
local TTL_MS = 60000

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

local function send(caller, headers, server, now_ms)
  return envoy.request(caller.on_request, { headers = headers, body = "{}", server = server, now_ms = now_ms })
end

-- The number of calls to the server for a request.
local function count_calls(caller, headers, now_ms)
  return #send(caller, headers, accepts, now_ms).calls
end

test("caller - sends the server only the caller's headers, and lets an accepted caller pass", function()
  local pass = send(fresh("caller"), post("a"), accepts)
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
    ["x-envoy-retry-on"] = settings.retries.on,
    ["x-envoy-max-retries"] = tostring(settings.retries.times),
    [HEADERS.edge] = settings.edge_secret,
  })
  equal(pass.calls[1].options, { timeout_ms = settings.call_timeout_ms, send_xff = false })
  equal(pass.reply, nil)
end)

test("caller - calls the server before it reads the body", function()
  local pass = envoy.request(fresh("caller").on_request, { headers = post("a"), body = "{}" })
  equal(#pass.calls, 1)
  equal(pass.yields, 1)
end)

test("caller - calls the server once for an accepted key", function()
  local caller = fresh("caller")
  equal(count_calls(caller, post("a")), 1)
  equal(count_calls(caller, post("a")), 0)
  equal(count_calls(caller, post("a", { [":method"] = "PUT", [":path"] = "/pets/7" })), 0)
  equal(count_calls(caller, post("b")), 1, "another key")
end)

test("caller - calls the server each time for a refused key", function()
  local caller = fresh("caller")
  equal(#send(caller, post("a"), refuses).calls, 1)
  equal(#send(caller, post("a"), refuses).calls, 1)
end)

test("caller - a refused caller gets the server's error at once, without the headers of the transport", function()
  local pass = send(fresh("caller"), post("a"), refuses)
  equal(pass.reply.headers, {
    [":status"] = "401",
    ["www-authenticate"] = "Bearer",
    ["content-type"] = "application/json",
    [HEADERS.code] = "API_KEY_INVALID",
    [HEADERS.grpc_status] = "16",
  })
  equal(pass.reply.body, REFUSED)
end)

test("caller - a refused caller gets the server's status, whatever the error's text contains", function()
  local error = '{"code":"X","message":"he said {\\"status\\":200}","status":400}'
  for _, status in ipairs({ "401", "403", "429", "500", "503" }) do
    local pass = send(fresh("caller"), post("a"), function()
      return { [":status"] = status, ["content-type"] = "application/json" }, error
    end)
    equal({ pass.reply.headers[":status"], pass.reply.body }, { status, error })
  end
end)

test("caller - calls the server for a caller without a key too", function()
  local pass = send(fresh("caller"), post(nil), refuses)
  equal(pass.calls[1].headers.authorization, nil)
  equal(pass.reply.headers[":status"], "401")
end)

test("caller - an unreachable server is a 503 with Retry-After", function()
  local responses = { -- of Envoy, for an unreachable server
    { [":status"] = "200", ["grpc-status"] = "14", ["grpc-message"] = "no healthy upstream" },
    { [":status"] = "503" },
    { [":status"] = "503", ["content-length"] = "16", ["content-type"] = "text/plain" },
  }
  for i, response in ipairs(responses) do
    local caller = fresh("caller")
    local pass = send(caller, post("a"), function()
      return response, i > 1 and "upstream failure" or nil
    end)
    equal(pass.reply.headers, {
      [":status"] = "503",
      ["retry-after"] = "1",
      ["content-type"] = "application/json",
      [HEADERS.worded] = "1",
      [HEADERS.code] = "UNAVAILABLE",
      [HEADERS.grpc_status] = "14",
    })
    equal(pass.reply.body, settings.errors.rest.unavailable)
    equal(count_calls(caller, post("a")), 1, "is not taken for accepted")
  end
end)

test("caller - a response after the timeout is a 504", function()
  for late_by, status in pairs({ [-200] = "503", [-1] = "504", [0] = "504", [1] = "504" }) do
    local pass = send(fresh("caller"), post("a"), function(_, pass)
      pass.now_ms = pass.now_ms + settings.call_timeout_ms + late_by
      return { [":status"] = "200", ["grpc-status"] = "4" }
    end)
    local headers, is_late = pass.reply.headers, status == "504"
    equal(headers[":status"], status, "late by " .. late_by)
    equal(pass.reply.body, is_late and settings.errors.rest.deadline_exceeded or settings.errors.rest.unavailable)
    equal(headers[HEADERS.code], is_late and "DEADLINE_EXCEEDED" or "UNAVAILABLE")
    equal({ headers[HEADERS.grpc_status], headers[HEADERS.worded] }, { is_late and "4" or "14", "1" })
    equal({ later = headers["retry-after"] }, { later = not is_late and "1" or nil })
  end
end)

test("caller - is judged whatever the request: nothing of it is awaited before", function()
  for _, method in ipairs({ "GET", "HEAD", "DELETE", "POST", "PUT", "OPTIONS", "ODD" }) do
    for _, length in ipairs({ "0", "2", false }) do
      equal(count_calls(fresh("caller"), post("a", { [":method"] = method, ["content-length"] = length })), 1, method)
    end
  end
  equal(count_calls(fresh("caller"), post("a", { [":method"] = "CONNECT", [":path"] = false })), 1)
end)

local GRPC_TYPES = {
  "application/grpc",
  "application/grpc+proto",
  "application/grpc+json",
  "application/grpc-web",
  "application/grpc-web+proto",
  "application/grpc-web-text",
  "application/grpc-web-text+proto",
}

test("caller - of gRPC goes on to the slots of anonymous callers until its key is known", function()
  for _, content_type in ipairs(GRPC_TYPES) do
    local caller, headers = fresh("caller"), post("a", { ["content-type"] = content_type })
    local first = send(caller, headers)
    equal({ #first.calls, first.yields, first.is_route_cleared, first:header(HEADERS.anonymous) }, { 0, 0, true, "1" })
    equal(send(caller, headers):header(HEADERS.anonymous), "1", "the server has not accepted it yet")
    for _ = 1, 2 do
      local accepted = { [":status"] = "200", ["content-type"] = content_type, [HEADERS.accepted] = "1" }
      local on_response = require("responses").on_response
      local response = envoy.response(on_response, { headers = accepted, metadata = first.metadata, body = "x" })
      equal({ response:header(HEADERS.accepted) }, {})
      equal({ response.body, response.yields }, { "x", 0 })
    end
    local second = send(caller, headers)
    equal({ second.is_route_cleared, second:header(HEADERS.anonymous) }, {})
    equal(send(caller, post("b", { ["content-type"] = content_type })):header(HEADERS.anonymous), "1", "another key")
    equal(send(caller, headers, nil, TTL_MS + 1000):header(HEADERS.anonymous), "1", "is checked again")
    equal({ send(caller, headers, nil, TTL_MS + 1000):header(HEADERS.anonymous) }, {}, "once")
  end
end)

test("caller - without a key stays anonymous, whatever the server responds", function()
  local caller, headers = fresh("caller"), post(nil, { ["content-type"] = "application/grpc" })
  local accepted = { [":status"] = "200", [HEADERS.accepted] = "1" }
  envoy.response(require("responses").on_response, { headers = accepted, metadata = send(caller, headers).metadata })
  equal(send(caller, headers):header(HEADERS.anonymous), "1")
end)

test("caller - calls the server for a body of any type or none, also if the type has a prefix of gRPC's", function()
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
    equal(count_calls(fresh("caller"), post("a", { ["content-type"] = content_type })), 1, tostring(content_type))
  end
end)

test("caller - has one spelling of the key from here on", function()
  local caller = fresh("caller")
  equal(send(caller, post(nil, { authorization = "bearer   a" }), accepts):header("authorization"), "Bearer a")
  equal(count_calls(caller, post("a")), 0)
  local second = send(caller, post(nil, { authorization = "BEARER a  " }), accepts)
  equal({ #second.calls, second:header("authorization") }, { 0, "Bearer a" })
end)

test("caller - is judged again when the key expires, by one request", function()
  local caller = fresh("caller")
  count_calls(caller, post("a"), 1000)
  equal(count_calls(caller, post("a"), TTL_MS + 999), 0)
  local first = send(caller, post("a"), nil, TTL_MS + 1000)
  equal({ #first.calls, first.calls[1].cluster }, { 1, "petstore" })
  equal(count_calls(caller, post("a"), TTL_MS + 1000), 0)
end)

test("caller - with a valid key is known although the server refuses the request, as over a limit", function()
  for id, calls in pairs({ ["7"] = 0, [false] = 1 }) do
    local caller = fresh("caller")
    send(caller, post("a"), function()
      return { [":status"] = "429", ["content-type"] = "application/json", [HEADERS.key] = id or nil }, REFUSED
    end)
    equal(count_calls(caller, post("a")), calls)
  end
end)

test("caller - needs no key for files and health, in a request without a body", function()
  local caller = fresh("caller")
  for path in pairs(settings.open_paths) do
    for _, query in ipairs({ "", "?x=1" }) do
      local headers = post(nil, { [":method"] = "GET", [":path"] = path .. query, ["content-length"] = false })
      local pass = send(caller, headers)
      equal({ #pass.calls, pass.yields, pass.reply, pass:header(HEADERS.anonymous) }, { 0, 0 }, path)
      equal(count_calls(caller, post(nil, { [":path"] = path, ["content-length"] = "0" })), 0)
      headers["content-length"] = "2"
      equal(count_calls(caller, headers), 1, "with a body")
      headers["content-length"], headers[":method"] = nil, "POST"
      equal(count_calls(caller, headers), 1, "with a method that has a body")
    end
  end
  for _, path in ipairs({ "/grpc.health.v1.Health/Check", "/grpc.reflection.v1.ServerReflection/Info" }) do
    local pass = send(caller, post(nil, { [":path"] = path, ["content-type"] = "application/grpc" }))
    equal({ pass.reply, pass:header(HEADERS.anonymous) }, {}, path)
  end
end)

local WELL_FORMED = "pst_DclQjqTF3SvtDXTNA256VnT1z61lJ0ci2uo6bI"

-- Sends more requests than an address may, and returns the last.
local function flood(caller, headers, server)
  local pass
  for _ = 1, settings.address_burst + 1 do
    pass = send(caller, headers, server)
  end
  return pass
end

test("caller - beyond the allowance of the address is refused without a call to the server", function()
  local caller = fresh("caller")
  local pass = flood(caller, post("a"), refuses)
  equal({ #pass.calls, pass.yields, pass.reply.body }, { 0, 1, settings.errors.rest.flood })
  equal(pass.reply.headers, {
    [":status"] = "429",
    ["content-type"] = "application/json",
    ["retry-after"] = "1",
    ["x-ratelimit-limit"] = "120",
    ["x-ratelimit-remaining"] = "0",
    ["x-ratelimit-reset"] = "2",
    [HEADERS.code] = "RATE_LIMITED",
    [HEADERS.grpc_status] = "8",
  })
  equal(#send(caller, post("a", { ["x-forwarded-for"] = "10.0.0.2" }), refuses).calls, 1, "another address")
  local connect = { [":path"] = "/petstore.v1.PetService/ListPets", ["content-type"] = "application/proto" }
  equal(send(caller, post("a", connect)).reply.body, settings.errors.connect.flood)
end)

test("caller - with a key of the right format is not refused for a neighbor's noise, nor is a known key", function()
  local caller = fresh("caller")
  count_calls(caller, post("known"))
  flood(caller, post("a"), refuses)
  equal(count_calls(caller, post("known")), 0)
  equal(send(caller, post("known")).reply, nil)
  equal(#send(caller, post(WELL_FORMED), refuses).calls, 1)
  flood(caller, post(WELL_FORMED), refuses)
  equal(send(caller, post("known"), nil, TTL_MS + 1000).reply, nil, "while it is checked again")
end)

test("caller - of files or health beyond the allowance is refused, which costs no other request", function()
  local caller = fresh("caller")
  local open = post(nil, { [":method"] = "GET", [":path"] = "/healthz", ["content-length"] = false })
  equal(flood(caller, open).reply.headers[":status"], "429")
  equal(#send(caller, post("a"), refuses).calls, 1)
end)

test("caller - of gRPC beyond the allowance gets a status with a pushback, over gRPC-Web in the body", function()
  local native = flood(fresh("caller"), post(nil, { ["content-type"] = "application/grpc" })).reply
  equal({ native.headers[":status"], native.headers["grpc-status"], native.body }, { "429", "8", "" })
  equal(native.headers["grpc-retry-pushback-ms"], "1000")
  equal(
    { native.headers["grpc-message"], native.headers["grpc-status-details-bin"] },
    { settings.flood_status.message, settings.flood_status.details }
  )
  local web = flood(fresh("caller"), post(nil, { ["content-type"] = "application/grpc-web+proto" })).reply
  equal({ web.headers[":status"], web.headers["content-type"] }, { "200", "application/grpc-web+proto" })
  equal({ web.body:sub(1, 3), web.body:byte(4) * 256 + web.body:byte(5) }, { "\128\0\0", #web.body - 5 })
  equal(web.body:find("grpc-status: 8\r\n", 1, true) ~= nil, true)
  local text = flood(fresh("caller"), post(nil, { ["content-type"] = "application/grpc-web-text" })).reply
  equal(text.body:sub(1, 8), "base64(\128")
end)
