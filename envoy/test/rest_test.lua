-- rest.lua and responses.lua: how the filters change requests, and responses of the server.

local envoy = require("fake_envoy")
local harness = require("harness")
local settings = require("settings")

local test, equal, fresh = harness.test, harness.equal, harness.fresh
local HEADERS = settings.headers
local MAX = settings.max_body_bytes

-- Requests ------------------------------------------------------------------------------------------------------------

-- Sends a request through the filter. `changes` replace or add headers; false removes one.
local function request(method, body, changes)
  local headers = {
    [":method"] = method,
    [":path"] = "/pets",
    ["content-type"] = "application/json",
    authorization = "Bearer a",
  }
  for name, value in pairs(changes or {}) do
    headers[name] = value or nil
  end
  return envoy.request(fresh("rest").on_request, { headers = headers, body = body })
end

local function saved(pass)
  return pass.metadata["petstore.rest"] and pass.metadata["petstore.rest"].request
end

test("a request without a body - passes unchanged, without a call to the server", function()
  for _, method in ipairs({ "GET", "HEAD", "DELETE", "POST" }) do
    for _, length in ipairs({ "0", false }) do
      local pass = request(method, nil, { ["content-length"] = length })
      equal({ #pass.calls, pass.yields, pass.reply == nil, saved(pass) == nil }, { 0, 0, true, true }, method)
      equal(pass:header(HEADERS.body_type), nil)
    end
  end
end)

test("a request without a body - may have an empty body of unknown length", function()
  for _, method in ipairs({ "GET", "POST" }) do
    local pass = request(method, "", { ["transfer-encoding"] = "chunked" })
    equal({ #pass.calls, pass.reply == nil, saved(pass) == nil }, { 0, true, true }, method)
  end
end)

test("a request with a body - has a header with the body's type, empty if there is none", function()
  for _, content_type in ipairs({ "application/json; charset=utf-8", "text/plain", false }) do
    local pass = request("POST", "{}", { ["content-type"] = content_type })
    equal(pass:header(HEADERS.body_type), content_type or "")
    equal(saved(pass), { content_type = content_type or "" })
    equal(pass.reply, nil)
    equal(#pass.calls, 0)
  end
end)

test("a request with a body - has a header with the type also if it has bytes that metadata can't carry", function()
  local types = {
    ["text/pl\233in"] = "text/pl?in",
    ["\195\169"] = "??",
    ["application/json;\tcharset=utf-8"] = "application/json; charset=utf-8",
  }
  for content_type, expected in pairs(types) do
    local pass = request("POST", "{}", { ["content-type"] = content_type })
    equal({ pass:header(HEADERS.body_type), saved(pass).content_type }, { expected, expected })
  end
end)

test("a request with a body - can't set the type by that header", function()
  local pass = request("POST", "{}", { [HEADERS.body_type] = "application/json", ["content-type"] = "text/plain" })
  equal(pass:header(HEADERS.body_type), "text/plain")
end)

test("a request with a body - that is invalid JSON is a 400", function()
  local pass = request("POST", "{'name':'Tom'}")
  equal(pass.reply, { headers = { [":status"] = "400" }, body = "" })
end)

test("a request with a body - of more than 64 KiB is a 413 by its length, before the body is read", function()
  for _, method in ipairs({ "POST", "GET" }) do
    for _, length in ipairs({ MAX + 1, "99999999999999999999" }) do
      local pass = request(method, "{}", { ["content-length"] = tostring(length) })
      equal(pass.reply, { headers = { [":status"] = "413" }, body = "" })
      equal({ pass.yields, #pass.calls }, { 1, 0 }, "no wait but the end")
    end
  end
  equal(request("POST", "{}", { ["content-length"] = tostring(MAX) }).reply, nil)
end)

test("a request with a body - of more than 64 KiB without a length is a 413 after the body is read", function()
  local chunked = { ["transfer-encoding"] = "chunked" }
  equal(request("POST", '"' .. ("x"):rep(MAX - 1) .. '"', chunked).reply.headers, { [":status"] = "413" })
  equal(request("POST", '"' .. ("x"):rep(MAX - 2) .. '"', chunked).reply, nil)
end)

test("a body - is not waited for if too many of its key are", function()
  local rest = fresh("rest")
  local headers = { [":method"] = "POST", [":path"] = "/pets", authorization = "Bearer a" }
  local waiting = {}
  for i = 1, settings.max_waiting_bodies do
    waiting[i] = envoy.request(rest.on_request, { headers = headers, body = "{}", is_body_late = true })
  end
  local function next_one(authorization, now_ms)
    headers.authorization = authorization
    return envoy.request(rest.on_request, { headers = headers, body = "{}", now_ms = now_ms }).reply
  end
  equal(next_one("Bearer a"), { headers = { [":status"] = "425" }, body = "" })
  equal(next_one("Bearer b"), nil, "another key")
  waiting[1]:resume()
  equal(next_one("Bearer a"), nil, "one has arrived")
end)

test("a body - that never comes is forgotten after the time that a body may take", function()
  local bodies = fresh("bodies")
  for _ = 1, settings.max_waiting_bodies do
    bodies.begin("a", 100000)
  end
  equal(bodies.begin("a", 100000 + settings.body_timeout_ms), nil)
  equal(bodies.begin("a", 100000 + 2 * settings.body_timeout_ms) ~= nil, true)
  equal(bodies.begin("a", 1000) ~= nil, true, "the clock was set back")
end)

test("a request - of gRPC or gRPC-Web passes unchanged", function()
  local types = {
    "application/grpc",
    "application/grpc+proto",
    "application/grpc-web",
    "application/grpc-web+proto",
    "application/grpc-web-text",
    "application/grpc-web-text+proto",
  }
  for _, content_type in ipairs(types) do
    local changes = { ["content-type"] = content_type, ["content-length"] = tostring(MAX * 2) }
    local pass = request("POST", "\0\0\0\0\0", changes)
    equal({ pass.yields, #pass.calls, pass.reply == nil, saved(pass) == nil }, { 0, 0, true, true }, content_type)
  end
end)

test("a request - of a type with a prefix of gRPC's is REST", function()
  for _, content_type in ipairs({ "application/grpcjson", "application/grpc-webjson", "application/grpc-web+json" }) do
    equal(request("POST", "{}", { ["content-type"] = content_type }):header(HEADERS.body_type), content_type)
  end
end)

-- Responses of the server ---------------------------------------------------------------------------------------------

-- Sends a response through the filter.
local function respond(headers, body, trailers)
  return envoy.response(fresh("responses").on_response, { headers = headers, body = body, trailers = trailers })
end

test("a response - of REST, Connect or gRPC passes unchanged", function()
  local body = '{"id":"7","status":404}'
  for _, headers in ipairs({
    { [":status"] = "200", ["content-type"] = "application/json", ["content-length"] = tostring(#body) },
    { [":status"] = "201", ["content-type"] = "application/json", location = "/pets/7" },
    { [":status"] = "404", ["content-type"] = "application/json", ["retry-after"] = "1" },
    { [":status"] = "200", ["content-type"] = "application/proto" },
    { [":status"] = "200", ["content-type"] = "application/grpc", ["grpc-encoding"] = "identity" },
    { [":status"] = "200", ["content-type"] = "application/grpc", ["grpc-status"] = "5", ["grpc-message"] = "x" },
  }) do
    local pass = respond(headers, body, { ["grpc-status"] = "0", ["grpc-message"] = "" })
    local seen = {}
    for _, header in ipairs(pass.header_list) do
      seen[header[1]] = header[2]
    end
    equal(seen, headers)
    equal({ pass.body, pass.yields, #pass.calls }, { body, 0, 0 })
    equal({ pass:trailer("grpc-status"), pass:trailer("grpc-message") }, { "0", "" })
  end
end)

test("a response - of Envoy for a call without a free slot passes unchanged", function()
  for _, errors in ipairs({ settings.errors.rest, settings.errors.connect }) do
    local pass = respond({ [":status"] = "503", ["content-type"] = "application/json" }, errors.unavailable)
    equal({ pass:header(":status"), pass.body, pass.yields }, { "503", errors.unavailable, 0 })
  end
end)

test("a response - to HEAD has the length of the GET, and nothing else is changed", function()
  local pass = respond({ [":status"] = "404", etag = '"a"', [HEADERS.length] = "1234" })
  equal({ pass:header(":status"), pass:header("etag") }, { "404", '"a"' })
  equal({ pass:header("content-length"), length = pass:header(HEADERS.length), body = pass.body }, { "1234" })
end)

test("a response - with the header for an accepted key does not show it to the caller", function()
  equal({ accepted = respond({ [":status"] = "200", [HEADERS.accepted] = "1" }):header(HEADERS.accepted) }, {})
end)
