-- rest.lua: what it does to a request, and the little that it does to an answer of the server.

local envoy = require("fake_envoy")
local harness = require("harness")
local tables = require("tables")

local test, equal, fresh = harness.test, harness.equal, harness.fresh
local HEADERS = tables.headers
local MAX = tables.max_body_bytes

local UNAUTHENTICATED = '{"code":"API_KEY_MISSING","message":"no API key","status":401}'

local function accepts()
  return { [":status"] = "200", ["content-type"] = "application/grpc" }, "\0\0\0\0\0"
end

local function refuses()
  return { [":status"] = "401", ["content-type"] = "application/json" }, UNAUTHENTICATED
end

-- Requests ------------------------------------------------------------------------------------------------------------

-- Sends a request through the filter. `changes` are headers beside method, path and type; false: not sent.
local function request(method, body, changes, server)
  local headers = {
    [":method"] = method,
    [":path"] = "/pets",
    ["content-type"] = "application/json",
    authorization = "Bearer a",
  }
  for name, value in pairs(changes or {}) do
    headers[name] = value or nil
  end
  return envoy.request(fresh("rest").on_request, { headers = headers, body = body, server = server })
end

local function kept(pass)
  return pass.metadata["petstore.rest"] and pass.metadata["petstore.rest"].request
end

test("a request without a body - passes untouched, and nobody is asked", function()
  for _, method in ipairs({ "GET", "HEAD", "DELETE", "POST" }) do
    for _, length in ipairs({ "0", false }) do
      local pass = request(method, nil, { ["content-length"] = length })
      equal({ #pass.calls, pass.waits, pass.reply == nil, kept(pass) == nil }, { 0, 0, true, true }, method)
      equal(pass:header(HEADERS.body_type), nil)
    end
  end
end)

test("a request without a body - may be one whose body turns out to be empty", function()
  for _, method in ipairs({ "GET", "POST" }) do
    local pass = request(method, "", { ["transfer-encoding"] = "chunked" })
    equal({ #pass.calls, pass.reply == nil, kept(pass) == nil }, { 0, true, true }, method)
  end
end)

test("a request with a body - tells the server the body's type, also that there is none", function()
  for _, content_type in ipairs({ "application/json; charset=utf-8", "text/plain", false }) do
    local pass = request("POST", "{}", { ["content-type"] = content_type })
    equal(pass:header(HEADERS.body_type), content_type or "")
    equal(kept(pass), { authorization = "Bearer a", content_type = content_type or "", body = "{}" })
    equal(pass.reply, nil)
    equal(#pass.calls, 0)
  end
end)

test("a request with a body - tells the server the type also when it has bytes that metadata can't have", function()
  local types = {
    ["text/pl\233in"] = "text/pl?in",
    ["\195\169"] = "??",
    ["application/json;\tcharset=utf-8"] = "application/json; charset=utf-8",
  }
  for content_type, told in pairs(types) do
    local pass = request("POST", "{}", { ["content-type"] = content_type })
    equal({ pass:header(HEADERS.body_type), kept(pass).content_type }, { told, told })
  end
end)

test("a request with a body - can't say the type by a header of ours", function()
  local pass = request("POST", "{}", { [HEADERS.body_type] = "application/json", ["content-type"] = "text/plain" })
  equal(pass:header(HEADERS.body_type), "text/plain")
end)

test("a request with a body - that is no JSON is a 400, and the body is not repeated to the server", function()
  local pass = request("POST", "{'name':'Tom'}")
  equal(pass.reply, { headers = { [":status"] = "400" }, body = "" })
  equal({ body = kept(pass).body }, {})
end)

test("a request with a body - of more than 64 KiB is a 413 by its length, before any of it is read", function()
  for _, method in ipairs({ "POST", "GET" }) do
    for _, length in ipairs({ MAX + 1, "99999999999999999999" }) do
      local pass = request(method, "{}", { ["content-length"] = tostring(length) })
      equal(pass.reply, { headers = { [":status"] = "413" }, body = "" })
      equal({ pass.waits, #pass.calls }, { 1, 0 }, "no wait but the end")
    end
  end
  equal(request("POST", "{}", { ["content-length"] = tostring(MAX) }).reply, nil)
end)

test("a request with a body - of more than 64 KiB without a length is a 413 when it is there", function()
  local chunked = { ["transfer-encoding"] = "chunked" }
  equal(request("POST", '"' .. ("x"):rep(MAX - 1) .. '"', chunked).reply.headers, { [":status"] = "413" })
  equal(request("POST", '"' .. ("x"):rep(MAX - 2) .. '"', chunked).reply, nil)
end)

test("a request with a body where none is expected - is judged before the body is looked at", function()
  for _, method in ipairs({ "GET", "HEAD", "DELETE" }) do
    local pass = request(method, "{", nil, refuses)
    equal(pass.calls[1].headers[":path"], tables.questions.judge.path)
    equal(pass.reply, { headers = { [":status"] = "401", [HEADERS.worded] = "1" }, body = UNAUTHENTICATED })
    equal(kept(pass), nil)
  end
end)

test("a request with a body where none is expected - goes on when its caller is accepted", function()
  for _, method in ipairs({ "GET", "HEAD", "DELETE" }) do
    local pass = request(method, "{}", nil, accepts)
    equal(#pass.calls, 1)
    equal(pass.reply, nil)
    equal(pass:header(HEADERS.body_type), "application/json")
    equal(kept(pass).body, "{}")
  end
end)

test("a request - of gRPC or gRPC-Web passes untouched", function()
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
    equal({ pass.waits, #pass.calls, pass.reply == nil, kept(pass) == nil }, { 0, 0, true, true }, content_type)
  end
end)

test("a request - of a type that only begins like gRPC is REST", function()
  for _, content_type in ipairs({ "application/grpcjson", "application/grpc-webjson", "application/grpc-web+json" }) do
    equal(request("POST", "{}", { ["content-type"] = content_type }):header(HEADERS.body_type), content_type)
  end
end)

-- Answers of the server -----------------------------------------------------------------------------------------------

-- An answer on its way back, with these headers.
local function answer(headers, body, trailers)
  return envoy.answer(fresh("rest").on_response, { headers = headers, body = body, trailers = trailers })
end

-- The answer with a file, as the transcoder leaves it. `changes` are headers that differ.
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
  return answer(headers, body, { ["grpc-status"] = "0", ["grpc-message"] = "", other = "1" })
end

test("an answer - of REST, Connect or gRPC passes untouched", function()
  local body = '{"id":"7","status":404}'
  for _, headers in ipairs({
    { [":status"] = "200", ["content-type"] = "application/json", ["content-length"] = tostring(#body) },
    { [":status"] = "201", ["content-type"] = "application/json", location = "/pets/7" },
    { [":status"] = "404", ["content-type"] = "application/json", ["retry-after"] = "1" },
    { [":status"] = "200", ["content-type"] = "application/proto" },
    { [":status"] = "200", ["content-type"] = "application/grpc", ["grpc-encoding"] = "identity" },
    { [":status"] = "200", ["content-type"] = "application/grpc", ["grpc-status"] = "5", ["grpc-message"] = "x" },
  }) do
    local pass = answer(headers, body, { ["grpc-status"] = "0", ["grpc-message"] = "" })
    local seen = {}
    for _, header in ipairs(pass.header_list) do
      seen[header[1]] = header[2]
    end
    equal(seen, headers)
    equal({ pass.body, pass.waits, #pass.calls }, { body, 0, 0 })
    equal({ pass:trailer("grpc-status"), pass:trailer("grpc-message") }, { "0", "" })
  end
end)

test("an answer - of Envoy's own that has no room for the call is left as it is", function()
  for _, errors in ipairs({ tables, tables.connect }) do
    local pass = answer({ [":status"] = "503", ["content-type"] = "application/json" }, errors.unavailable)
    equal({ pass:header(":status"), pass.body, pass.waits }, { "503", errors.unavailable, 0 })
  end
end)

test("an answer - has the length that the server gives, keeps its bytes, and says nothing of that header", function()
  local page = file('{"id":"7"}')
  -- One wait, for the trailers: the body passes meanwhile.
  equal({ page.body, page.waits, page:header("content-length") }, { '{"id":"7"}', 1, "10" })
  equal({ page:header(":status"), page:header("content-type"), page:header("etag") }, { "200", "text/html", '"a"' })
  equal(page:header(HEADERS.length), nil)
  equal(file("x", { ["content-length"] = "1" }):header("content-length"), "10", "the server's, and no other beside it")
end)

test("an answer - to HEAD has the length of the GET and no body", function()
  for _, changes in ipairs({ {}, { [":status"] = "404", ["content-type"] = "application/json" } }) do
    changes[HEADERS.length] = "1234"
    local pass = file(nil, changes)
    equal({ pass:header(":status"), pass:header("content-length") }, { changes[":status"] or "200", "1234" })
    equal({ body = pass.body, length = pass:header(HEADERS.length) }, {})
  end
  local bare = answer({ [":status"] = "200", [HEADERS.length] = "1234" }) -- no trailers
  equal({ bare:header("content-length"), bare.body }, { "1234" })
end)

test("an answer - with a file leaves nothing of the gRPC call in its headers and trailers", function()
  for _, body in ipairs({ "0123456789", false }) do
    local pass = file(body or nil)
    equal({ pass:header("grpc-encoding"), pass:header("grpc-accept-encoding") }, {})
    equal({ pass:trailer("grpc-status"), pass:trailer("grpc-message") }, {})
    equal(pass:trailer("other"), "1")
  end
end)

test("an answer - that says that the key is accepted, and its length, says neither to the caller", function()
  local pass = file("0123456789", { [HEADERS.accepted] = "1" })
  equal({ accepted = pass:header(HEADERS.accepted), length = pass:header(HEADERS.length) }, {})
  equal(pass:header("content-length"), "10")
end)
