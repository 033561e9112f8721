-- rest.lua and responses.lua: how the filters change requests, and responses of the server.

local envoy = require("fake_envoy")
local harness = require("harness")
local tables = require("tables")

local test, equal, fresh = harness.test, harness.equal, harness.fresh
local HEADERS = tables.headers
local MAX = tables.max_body_bytes

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
  for i = 1, tables.max_waiting_bodies do
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
  for _ = 1, tables.max_waiting_bodies do
    bodies.begin("a", 100000)
  end
  equal(bodies.begin("a", 100000 + tables.body_timeout_ms), nil)
  equal(bodies.begin("a", 100000 + 2 * tables.body_timeout_ms) ~= nil, true)
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

-- The response with a file, as the transcoder leaves it. `changes` replace or add headers.
local function file(body, changes)
  local headers = {
    [":status"] = "200",
    ["content-type"] = "text/html",
    etag = '"a"',
    ["grpc-encoding"] = "identity",
    ["grpc-accept-encoding"] = "identity,deflate,gzip",
    [HEADERS.length] = "10",
  }
  for name, value in pairs(changes or {}) do
    headers[name] = value
  end
  return respond(headers, body, { ["grpc-status"] = "0", ["grpc-message"] = "", other = "1" })
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
  for _, errors in ipairs({ tables, tables.connect }) do
    local pass = respond({ [":status"] = "503", ["content-type"] = "application/json" }, errors.unavailable)
    equal({ pass:header(":status"), pass.body, pass.yields }, { "503", errors.unavailable, 0 })
  end
end)

test("a response - has the length from the server's header, which is removed, and keeps its bytes", function()
  local page = file('{"id":"7"}')
  -- One suspension, for the trailers: the body passes in the meantime.
  equal({ page.body, page.yields, page:header("content-length") }, { '{"id":"7"}', 1, "10" })
  equal({ page:header(":status"), page:header("content-type"), page:header("etag") }, { "200", "text/html", '"a"' })
  equal(page:header(HEADERS.length), nil)
  equal(file("x", { ["content-length"] = "1" }):header("content-length"), "10", "the server's, and no other beside it")
end)

test("a response - to HEAD has the length of the GET and no body", function()
  for _, changes in ipairs({ {}, { [":status"] = "404", ["content-type"] = "application/json" } }) do
    changes[HEADERS.length] = "1234"
    local pass = file(nil, changes)
    equal({ pass:header(":status"), pass:header("content-length") }, { changes[":status"] or "200", "1234" })
    equal({ body = pass.body, length = pass:header(HEADERS.length) }, {})
  end
  local bare = respond({ [":status"] = "200", [HEADERS.length] = "1234" }) -- no trailers
  equal({ bare:header("content-length"), bare.body }, { "1234" })
end)

test("a response - with a file has nothing of the gRPC call in its headers and trailers", function()
  for _, body in ipairs({ "0123456789", false }) do
    local pass = file(body or nil)
    equal({ pass:header("grpc-encoding"), pass:header("grpc-accept-encoding") }, {})
    equal({ pass:trailer("grpc-status"), pass:trailer("grpc-message") }, {})
    equal(pass:trailer("other"), "1")
  end
end)

test("a response - with the headers for an accepted key and a length shows neither to the caller", function()
  local pass = file("0123456789", { [HEADERS.accepted] = "1" })
  equal({ accepted = pass:header(HEADERS.accepted), length = pass:header(HEADERS.length) }, {})
  equal(pass:header("content-length"), "10")
end)
