-- connect.lua, and what the other filters do for Connect calls.

local envoy = require("fake_envoy")
local harness = require("harness")
local settings = require("settings")

local test, equal, fresh = harness.test, harness.equal, harness.fresh
local HEADERS = settings.headers
local MAX = settings.max_body_bytes
local LIST_PETS = "/petstore.v1.PetService/ListPets"

local UNAUTHENTICATED = '{"code":"unauthenticated","message":"no \\"status\\":404}","details":[]}'

-- An error of the server, over HTTP.
local function refuses()
  return { [":status"] = "401", ["content-type"] = "application/json", ["x-ratelimit-limit"] = "60" }, UNAUTHENTICATED
end

-- The result of httpCall if the server is unreachable.
local function unreachable()
  return { [":status"] = "503" }, "upstream failure"
end

-- Sends a call through a filter. `changes` replace headers; false removes one.
local function call(filter, body, changes, server)
  local headers = {
    [":method"] = "POST",
    [":path"] = LIST_PETS,
    ["content-type"] = "application/proto",
    authorization = "Bearer a",
    ["x-forwarded-for"] = "10.0.0.1",
    ["connect-protocol-version"] = "1",
  }
  for name, value in pairs(changes or {}) do
    headers[name] = value or nil
  end
  return envoy.request(fresh(filter).on_request, { headers = headers, body = body, server = server })
end

local function saved(pass)
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
    equal(saved(pass), { is_connect = true })
  end
end)

test("a Connect call - may have an empty message, with a body or without", function()
  equal(call("rest", "").body, "\0\0\0\0\0")
  equal(call("rest", nil).body, "\0\0\0\0\0")
  equal(call("rest", nil, { ["content-length"] = "0" }).body, "\0\0\0\0\0")
end)

test("a Connect call - has its deadline in the header of gRPC, and no other header of gRPC", function()
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

test("a Connect call - of 64 KiB is accepted, and of more is a 413", function()
  equal(#call("rest", ("x"):rep(MAX)).body, MAX + 5)
  equal(call("rest", ("x"):rep(MAX + 1)).reply, { headers = { [":status"] = "413" }, body = "" })
  local announced = call("rest", "x", { ["content-length"] = tostring(MAX + 1) })
  equal({ announced.reply.headers[":status"], announced.yields }, { "413", 1 })
  equal(saved(announced).is_connect, true)
end)

test("a Connect call - of an unknown method is a 404", function()
  for _, path in ipairs({ "/petstore.v1.PetService/Nope", LIST_PETS .. "?x", LIST_PETS .. "/", "/petstore.v1." }) do
    equal(call("rest", "", { [":path"] = path }).reply, { headers = { [":status"] = "404" }, body = "" })
  end
end)

test("a Connect call - of an unsupported kind is a 415", function()
  for _, changes in ipairs({
    { ["content-type"] = "application/json" },
    { ["content-type"] = "application/json; charset=utf-8" },
    { ["content-type"] = "application/connect+proto" },
    { ["content-type"] = "application/connect+json" },
    { ["content-encoding"] = "gzip" },
    { ["connect-protocol-version"] = "2" },
  }) do
    local pass = call("rest", "{}", changes)
    equal(pass.reply, { headers = { [":status"] = "415" }, body = "" })
    equal(saved(pass).is_connect, true)
  end
  equal(call("rest", "", { ["content-encoding"] = "identity" }).reply, nil)
end)

test("other requests - stay REST or gRPC, even with headers of Connect", function()
  local changes = {
    { [":path"] = "/pets", ["content-type"] = "application/json" },
    { [":path"] = "/pets?connect=v1" },
    { [":path"] = "/petstore.admin.v1.AdminService/ListAccounts" },
    { [":path"] = "/petstore.web.v1.WebService/CheckHealth" },
    { [":path"] = "/grpc.health.v1.Health/Check" },
    { ["content-type"] = "application/json", ["connect-protocol-version"] = false },
    { ["content-type"] = "application/proto2" },
    { ["content-type"] = "text/plain" },
    { ["content-type"] = false },
    { ["content-type"] = "application/grpc+proto" },
    { ["content-type"] = "application/grpc-web" },
    { [":method"] = "PUT" },
    { [":method"] = "GET", ["content-type"] = false },
  }
  for i, headers in ipairs(changes) do
    local pass = call("rest", "{}", headers)
    equal({ pass.body, pass:header(HEADERS.connect) }, { "{}" }, i)
    equal({ (saved(pass) or {}).is_connect }, {}, i)
  end
end)

-- Authentication ------------------------------------------------------------------------------------------------------

test("the judge - gets the error for a Connect caller from the server, before it reads the body", function()
  local pass = call("caller", ("x"):rep(MAX + 1), nil, refuses)
  equal({ #pass.calls, pass.yields, pass.calls[1].headers[HEADERS.connect] }, { 1, 2, "1" })
  equal(pass.reply, {
    headers = { [":status"] = "401", ["x-ratelimit-limit"] = "60", ["content-type"] = "application/json" },
    body = UNAUTHENTICATED,
  })
end)

test("the judge - sends a Connect caller an error of Connect if the server is unreachable", function()
  local pass = call("caller", "x", nil, unreachable)
  equal(pass.reply.headers, {
    [":status"] = "503",
    ["retry-after"] = "1",
    ["content-type"] = "application/json",
    [HEADERS.worded] = "1",
    [HEADERS.code] = "UNAVAILABLE",
    [HEADERS.grpc_status] = "14",
  })
  equal(pass.reply.body, settings.errors.connect.unavailable)
end)

test("the judge - sends a Connect caller an error of Connect if the response is too late", function()
  local pass = call("caller", "x", nil, function(_, pass)
    pass.now_ms = pass.now_ms + settings.call_timeout_ms
    return unreachable()
  end)
  equal({ pass.reply.headers[":status"], pass.reply.body }, { "504", settings.errors.connect.deadline_exceeded })
end)

test("the judge - does not mark a REST caller as a Connect caller", function()
  for _, path in ipairs({ "/pets", "/pets?connect=v1" }) do
    local changes = { [":path"] = path, ["content-type"] = "application/json" }
    local pass = call("caller", "{}", changes, function()
      return { [":status"] = "200" }, "\0\0\0\0\0"
    end)
    equal({ #pass.calls, pass.calls[1].headers[HEADERS.connect] }, { 1 })
  end
end)

-- Local replies -------------------------------------------------------------------------------------------------------

-- Sends a local reply of Envoy to a Connect call through the filter.
local function local_reply(status, server)
  return envoy.response(fresh("responses").on_response, {
    headers = { [":status"] = status, [HEADERS.refused] = "POST", [HEADERS.refused .. "-path"] = LIST_PETS },
    body = "text",
    server = server,
    metadata = { ["petstore.rest"] = { request = { is_connect = true } } },
  })
end

test("a local reply - to a Connect call becomes the server's error, with its status", function()
  for status, method in pairs({ ["413"] = "refuse", ["408"] = "refuse", ["503"] = "fail", ["504"] = "fail" }) do
    local pass = local_reply(status, refuses)
    equal(pass.calls[1].headers[":path"], settings.edge_methods[method].path)
    equal(pass.calls[1].headers[HEADERS.connect], "1")
    equal({ pass:header(":status"), pass.body }, { "401", UNAUTHENTICATED })
    equal({ pass:header("content-type"), pass:header("x-ratelimit-limit") }, { "application/json", "60" })
    equal(pass:header("content-length"), tostring(#UNAUTHENTICATED))
  end
end)

test("a local reply - to a Connect call is an error of Connect if the server is unreachable", function()
  for status, expected in pairs({ ["413"] = "503", ["408"] = "503", ["503"] = "503", ["504"] = "504" }) do
    local is_late = expected == "504"
    local pass = local_reply(status, unreachable)
    local error = is_late and settings.errors.connect.deadline_exceeded or settings.errors.connect.unavailable
    equal({ pass:header(":status"), pass.body }, { expected, error }, status)
    equal({ pass:header("content-type"), pass:header("content-length") }, { "application/json", tostring(#error) })
    equal({ later = pass:header("retry-after") }, { later = not is_late and "1" or nil })
    equal(pass:header(HEADERS.code), is_late and "DEADLINE_EXCEEDED" or "UNAVAILABLE")
    equal(pass:header(HEADERS.grpc_status), is_late and "4" or "14")
  end
end)
