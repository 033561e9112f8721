-- connect.lua and what the other filters do for calls of the Connect protocol.

local envoy = require("fake_envoy")
local harness = require("harness")
local tables = require("tables")

local test, equal, fresh = harness.test, harness.equal, harness.fresh
local HEADERS = tables.headers
local MAX = tables.max_body_bytes
local LIST_PETS = "/petstore.v1.PetService/ListPets"

local UNAUTHENTICATED = '{"code":"unauthenticated","message":"no \\"status\\":404}","details":[]}'

-- Sends a call through a filter. `changes` are headers that differ; false: not sent.
local function call(filter, body, changes, server)
  local headers = {
    [":method"] = "POST", [":path"] = LIST_PETS, ["content-type"] = "application/proto", authorization = "Bearer a",
    ["connect-protocol-version"] = "1",
  }
  for name, value in pairs(changes or {}) do headers[name] = value or nil end
  return envoy.request(fresh(filter).on_request, { headers = headers, body = body, server = server })
end

local function kept(pass)
  return pass.metadata["petstore.rest"] and pass.metadata["petstore.rest"].request
end

-- Requests ------------------------------------------------------------------------------------------------------------

test("a Connect call - becomes gRPC, with a frame around its message", function()
  for _, version in ipairs({ "1", false }) do
    local pass = call("rest", "\1\0\255", { ["connect-protocol-version"] = version })
    equal(pass.body, "\0\0\0\0\3\1\0\255")
    equal({ pass:header("content-type"), pass:header("te") }, { "application/grpc+proto", "trailers" })
    equal({ pass:header("content-length"), pass:header(HEADERS.connect) }, { "8", "1" })
    equal({ pass.is_route_cleared, pass.is_route_found, pass.reply == nil, #pass.calls }, { true, true, true, 0 })
    equal(kept(pass), { authorization = "Bearer a", is_connect = true })
  end
end)

test("a Connect call - may have an empty message, with a body or without", function()
  equal(call("rest", "").body, "\0\0\0\0\0")
  equal(call("rest", nil).body, "\0\0\0\0\0")
  equal(call("rest", nil, { ["content-length"] = "0" }).body, "\0\0\0\0\0")
end)

test("a Connect call - has its deadline as gRPC says it, and says nothing else of gRPC", function()
  for said, meant in pairs({ ["1500"] = "1500m", ["0"] = "0m", ["9999999999"] = "99999999m" }) do
    equal(call("rest", "", { ["connect-timeout-ms"] = said }):header("grpc-timeout"), meant)
  end
  local grpc = { ["grpc-timeout"] = "9H", ["grpc-encoding"] = "gzip", ["grpc-accept-encoding"] = "gzip" }
  for _, said in ipairs({ "-1", "1s", "", false }) do
    grpc["connect-timeout-ms"] = said
    local pass = call("rest", "", grpc)
    for name in pairs(grpc) do
      if name ~= "connect-timeout-ms" then equal({ pass:header(name) }, {}, name) end
    end
  end
end)

test("a Connect call - of 64 KiB goes on, and one of more is a 413", function()
  equal(#call("rest", ("x"):rep(MAX)).body, MAX + 5)
  equal(call("rest", ("x"):rep(MAX + 1)).reply, { headers = { [":status"] = "413" }, body = "" })
  local announced = call("rest", "x", { ["content-length"] = tostring(MAX + 1) })
  equal({ announced.reply.headers[":status"], announced.waits }, { "413", 1 })
  equal(kept(announced).is_connect, true)
end)

test("a Connect call - of a method that is none is a 404", function()
  for _, path in ipairs({ "/petstore.v1.PetService/Nope", LIST_PETS .. "?x", LIST_PETS .. "/", "/petstore.v1." }) do
    equal(call("rest", "", { [":path"] = path }).reply, { headers = { [":status"] = "404" }, body = "" })
  end
end)

test("a Connect call - of a kind that is not taken is a 415", function()
  for _, changes in ipairs({
    { ["content-type"] = "application/json" }, { ["content-type"] = "application/json; charset=utf-8" },
    { ["content-type"] = "application/connect+proto" }, { ["content-type"] = "application/connect+json" },
    { ["content-encoding"] = "gzip" }, { ["connect-protocol-version"] = "2" },
  }) do
    local pass = call("rest", "{}", changes)
    equal(pass.reply, { headers = { [":status"] = "415" }, body = "" })
    equal(kept(pass).is_connect, true)
  end
  equal(call("rest", "", { ["content-encoding"] = "identity" }).reply, nil)
end)

test("what is no Connect call - stays REST or gRPC, whatever it says of Connect", function()
  local changes = {
    { [":path"] = "/pets", ["content-type"] = "application/json" },
    { [":path"] = "/pets?connect=v1" }, { [":path"] = "/petstore.admin.v1.AdminService/ListAccounts" },
    { [":path"] = "/petstore.web.v1.WebService/CheckHealth" }, { [":path"] = "/grpc.health.v1.Health/Check" },
    { ["content-type"] = "application/json", ["connect-protocol-version"] = false },
    { ["content-type"] = "application/proto2" }, { ["content-type"] = "text/plain" }, { ["content-type"] = false },
    { ["content-type"] = "application/grpc+proto" }, { ["content-type"] = "application/grpc-web" },
    { [":method"] = "PUT" }, { [":method"] = "GET", ["content-type"] = false },
  }
  for i, headers in ipairs(changes) do
    local pass = call("rest", "{}", headers)
    equal({ pass.body, pass:header(HEADERS.connect) }, { "{}" }, i)
    equal({ (kept(pass) or {}).is_connect }, {}, i)
  end
end)

-- The judgement -------------------------------------------------------------------------------------------------------

test("the judge - has the server word what a Connect caller is told, before anything of the body is read", function()
  local pass = call("judge", ("x"):rep(MAX + 1), nil, function()
    return { [":status"] = "200", ["x-ratelimit-limit"] = "60", [HEADERS.error] = UNAUTHENTICATED }
  end)
  equal({ #pass.calls, pass.waits, pass.calls[1].headers[HEADERS.connect] }, { 1, 2, "1" })
  equal(pass.reply.headers, {
    [":status"] = "401", ["x-ratelimit-limit"] = "60", [HEADERS.error] = UNAUTHENTICATED,
  })
end)

test("the judge - tells a Connect caller in its own shape that the server does not answer", function()
  local pass = call("judge", "x", nil, function() return { [":status"] = "503" } end)
  equal(pass.reply.headers, {
    [":status"] = "503", ["retry-after"] = "1", [HEADERS.error] = tables.connect.unavailable,
    [HEADERS.code] = "UNAVAILABLE", ["grpc-status"] = "14",
  })
end)

test("the judge - does not say of a REST caller that it speaks Connect", function()
  for _, path in ipairs({ "/pets", "/pets?connect=v1" }) do
    local changes = { [":path"] = path, ["content-type"] = "application/json" }
    local pass = call("judge", "{}", changes, function() return { [":status"] = "200" } end)
    equal({ #pass.calls, pass.calls[1].headers[HEADERS.connect] }, { 1 })
  end
end)

-- Answers -------------------------------------------------------------------------------------------------------------

local function answer(body, changes, metadata, server)
  local headers = {
    [":status"] = "200", ["content-type"] = "application/grpc+proto", [HEADERS.request] = "CONNECT " .. LIST_PETS,
  }
  for name, value in pairs(changes or {}) do headers[name] = value or nil end
  return envoy.answer(fresh("rest").on_response, {
    headers = headers, body = body, trailers = { ["grpc-status"] = "0", ["grpc-message"] = "" }, server = server,
    metadata = metadata,
  })
end

test("an answer to Connect - is the message alone", function()
  for _, message in ipairs({ "", "\1\0\255", ("x"):rep(MAX) }) do
    local pass = answer("\0\0\0\0\0" .. message)
    equal({ pass:header(":status"), pass.body }, { "200", message })
    equal({ pass:header("content-type"), pass:header("content-length") }, { "application/proto", tostring(#message) })
    equal({ pass:trailer("grpc-status"), pass:trailer("grpc-message") }, {})
  end
end)

test("an answer to Connect - that is an error of the server is its body, with the status of its code", function()
  for code, status in pairs(tables.connect.statuses) do
    local error = '{"code":"' .. code .. '","message":"x","details":[]}'
    local pass = answer(nil, { ["grpc-status"] = "5", [HEADERS.error] = error })
    equal({ pass:header(":status"), pass.body, pass:header("content-type") }, { status, error, "application/json" })
  end
end)

test("an answer to Connect - that has no message is UNAVAILABLE", function()
  local pass = answer(nil, { ["grpc-status"] = "13" })
  equal({ pass:header(":status"), pass.body }, { "503", tables.connect.unavailable })
end)

test("an answer to Connect - of Envoy's own that has no room for the call is left as it is", function()
  local pass = answer(tables.connect.unavailable, { [":status"] = "503", [HEADERS.request] = false })
  equal({ pass:header(":status"), pass.body, pass.waits }, { "503", tables.connect.unavailable, 0 })
end)

test("a refusal of Envoy - is worded by the server as Connect has it", function()
  local headers = { [HEADERS.refused] = "POST", [HEADERS.refused .. "-path"] = LIST_PETS, [HEADERS.request] = false }
  local metadata = { ["petstore.rest"] = { request = { authorization = "Bearer a", is_connect = true } } }
  for status, question in pairs({ ["413"] = "refuse", ["408"] = "refuse", ["503"] = "fail", ["504"] = "fail" }) do
    headers[":status"] = status
    local pass = answer("text", headers, metadata, function()
      return { [":status"] = "200", [HEADERS.error] = UNAUTHENTICATED }
    end)
    equal(pass.calls[1].headers[":path"], tables.questions[question].path)
    equal(pass.calls[1].headers[HEADERS.connect], "1")
    equal({ pass:header(":status"), pass.body }, { "401", UNAUTHENTICATED })
  end
  for status, error in pairs({ ["503"] = "unavailable", ["504"] = "deadline_exceeded" }) do
    headers[":status"] = status
    local pass = answer("text", headers, metadata, function() return { [":status"] = "503" } end)
    equal({ pass:header(":status"), pass.body }, { status, tables.connect[error] })
  end
end)
