-- responses.lua: how the filter changes a local reply, which Envoy or a filter makes instead of the server.

local envoy = require("fake_envoy")
local harness = require("harness")
local settings = require("settings")

local test, equal, fresh = harness.test, harness.equal, harness.fresh
local HEADERS = settings.headers
local MAX = settings.max_body_bytes

local NOT_FOUND = '{"code":"PET_NOT_FOUND","message":"there is no pet 7","status":404}'
local UNAUTHENTICATED = '{"code":"API_KEY_MISSING","message":"no API key","status":401}'

-- Sends a local reply of Envoy through the filter. `saved_request` is what the filter saved of the request. `changes`
-- replace headers; false removes one.
local function local_reply(status, server, saved_request, changes)
  local headers = {
    [":status"] = status,
    ["content-type"] = "text/plain",
    ["x-request-id"] = "id-1",
    [HEADERS.refused] = "POST",
    [HEADERS.refused .. "-path"] = "/pets?x=1",
    [HEADERS.refused .. "-authorization"] = "Bearer a",
    [HEADERS.refused .. "-forwarded-for"] = "10.0.0.1",
    [HEADERS.refused .. "-request-id"] = "id-1",
  }
  for name, value in pairs(changes or {}) do
    headers[name] = value or nil
  end
  return envoy.response(fresh("responses").on_response, {
    headers = headers,
    body = "Unexpected token.",
    server = server,
    metadata = saved_request and { ["petstore.rest"] = { request = saved_request } },
  })
end

-- A server that responds with this error, over HTTP.
local function error_from_server(status, error, more)
  return function()
    local headers = {
      [":status"] = status,
      ["content-type"] = "application/json",
      ["content-length"] = "1",
      ["x-envoy-x"] = "1",
    }
    for name, value in pairs(more or {}) do
      headers[name] = value
    end
    return headers, error
  end
end

-- Envoy's response for an unreachable server.
local function unreachable()
  return { [":status"] = "200", ["grpc-status"] = "14" }
end

test("a local reply - becomes the server's error, from a call with the caller's credentials", function()
  local pass = local_reply("404", error_from_server("404", NOT_FOUND, { ["x-ratelimit-limit"] = "60" }))
  local call = pass.calls[1]
  equal(call.headers[":path"], settings.edge_methods.refuse.path)
  equal(call.headers.authorization, "Bearer a")
  equal(call.headers["x-forwarded-for"], "10.0.0.1")
  equal(call.headers["x-request-id"], "id-1")
  equal({ pass:header(":status"), pass.body }, { "404", NOT_FOUND })
  equal({ pass:header("content-type"), pass:header("x-ratelimit-limit") }, { "application/json", "60" })
  equal({ x = pass:header("x-envoy-x") }, {})
  equal(pass:header("content-length"), tostring(#NOT_FOUND))
end)

test("a local reply - has the server's status, whatever the error's text contains", function()
  local error = '{"code":"X","message":"he said {\\"status\\":200}","status":400}'
  for _, status in ipairs({ "400", "401", "404", "413", "429", "500", "503" }) do
    local pass = local_reply("404", error_from_server(status, error))
    equal({ pass:header(":status"), pass.body }, { status, error })
  end
end)

test("a local reply - has the server's headers for the access log", function()
  local log = {
    [HEADERS.account] = "1",
    [HEADERS.key] = "2",
    [HEADERS.code] = "PET_NOT_FOUND",
    [HEADERS.grpc_status] = "5",
  }
  local pass = local_reply("404", error_from_server("404", NOT_FOUND, log))
  for name, value in pairs(log) do
    equal(pass:header(name), value, name)
  end
end)

test("a local reply - shows the caller none of its headers for the filter", function()
  local pass = local_reply("404", error_from_server("404", NOT_FOUND))
  for _, name in ipairs({ "", "-path", "-authorization", "-forwarded-for", "-request-id" }) do
    equal(pass:header(HEADERS.refused .. name), nil, name)
  end
  equal(pass:header("x-request-id"), "id-1")
end)

test("a local reply - becomes another error if the server refuses the key", function()
  local pass = local_reply("404", error_from_server("401", UNAUTHENTICATED, { ["www-authenticate"] = "Bearer" }))
  equal({ pass:header(":status"), pass:header("www-authenticate") }, { "401", "Bearer" })
end)

test("a local reply - to a request without key and path leads to a call without them", function()
  local pass = local_reply("404", error_from_server("401", UNAUTHENTICATED), nil, {
    [HEADERS.refused .. "-authorization"] = false,
    [HEADERS.refused .. "-path"] = false,
  })
  equal({ key = pass.calls[1].headers.authorization }, {})
  equal(pass:header(":status"), "401")
end)

test("a local reply - to HEAD has no body, and the length of the error", function()
  local head, open = { [HEADERS.refused] = "HEAD" }, { [HEADERS.refused] = "HEAD" }
  open[HEADERS.refused .. "-path"] = "/docs"
  for _, case in ipairs({
    { local_reply("404", error_from_server("404", NOT_FOUND), nil, head), "404", NOT_FOUND },
    {
      local_reply("503", error_from_server("503", settings.errors.rest.unavailable), nil, head),
      "503",
      settings.errors.rest.unavailable,
    },
    { local_reply("404", unreachable, nil, head), "503", settings.errors.rest.unavailable },
    { local_reply("504", unreachable, nil, head), "504", settings.errors.rest.deadline_exceeded },
    { local_reply("503", nil, nil, open), "503", settings.errors.rest.unavailable },
  }) do
    local pass, status, error = unpack(case)
    equal({ pass:header(":status"), pass.body, pass:header("content-length") }, { status, "", tostring(#error) })
    equal(pass:header("content-type"), "application/json")
  end
end)

test("a local reply - to HEAD has no length if it would depend on Envoy's message, which HEAD does not have", function()
  local pass = local_reply("400", error_from_server("400", NOT_FOUND), nil, { [HEADERS.refused] = "HEAD" })
  equal({ pass:header(":status"), pass.body, pass:header("content-length") }, { "400", "" })
end)

test("a failed call - becomes the error of Fail, which counts nothing", function()
  for _, status in ipairs({ "500", "502", "503", "504" }) do
    local pass = local_reply(status, error_from_server("503", settings.errors.rest.unavailable))
    equal(pass.calls[1].headers[":path"], settings.edge_methods.fail.path)
    equal(pass:header(":status"), "503")
  end
end)

test("a failed call - on a path that needs no key is a 503 without a call to the server", function()
  for path in pairs(settings.open_paths) do
    for _, query in ipairs({ "", "?x=1" }) do
      local pass = local_reply("503", nil, nil, { [HEADERS.refused .. "-path"] = path .. query })
      equal(
        { #pass.calls, pass:header(":status"), pass.body },
        { 0, "503", settings.errors.rest.unavailable },
        path .. query
      )
    end
  end
  local other = { [HEADERS.refused .. "-path"] = "/pets?/docs" }
  equal(#local_reply("503", error_from_server("503", settings.errors.rest.unavailable), nil, other).calls, 1)
end)

test("a failed call - with an unreachable server is a 504 after the timeout, else a 503 with Retry-After", function()
  for status, expected in pairs({ ["400"] = "503", ["404"] = "503", ["503"] = "503", ["504"] = "504" }) do
    local pass = local_reply(status, unreachable, nil, { ["retry-after"] = "99" })
    local is_late = expected == "504"
    local error = is_late and settings.errors.rest.deadline_exceeded or settings.errors.rest.unavailable
    equal({ pass:header(":status"), pass.body }, { expected, error }, status)
    equal({ pass:header("content-type"), pass:header("content-length") }, { "application/json", tostring(#error) })
    equal({ later = pass:header("retry-after") }, { later = not is_late and "1" or nil })
    equal(pass:header(HEADERS.code), is_late and "DEADLINE_EXCEEDED" or "UNAVAILABLE")
    equal(pass:header(HEADERS.grpc_status), is_late and "4" or "14")
  end
end)

test("a failed call - has the server's Retry-After, not Envoy's", function()
  local envoys = { ["retry-after"] = "99" }
  equal(
    local_reply("503", error_from_server("503", settings.errors.rest.unavailable), nil, envoys):header("retry-after"),
    nil
  )
  local ours = error_from_server("503", settings.errors.rest.unavailable, { ["retry-after"] = "30" })
  equal(local_reply("503", ours, nil, envoys):header("retry-after"), "30")
end)

-- Sends a response of the judge with the server's error through the filter. Envoy has set its length.
local function judge_response(method, body)
  return envoy.response(fresh("responses").on_response, {
    headers = {
      [":status"] = "503",
      ["content-type"] = "text/plain",
      ["content-length"] = tostring(#settings.errors.rest.unavailable),
      ["retry-after"] = "30",
      [HEADERS.code] = "UNAVAILABLE",
      [HEADERS.grpc_status] = "14",
      [HEADERS.worded] = "1",
      [HEADERS.refused] = method,
      [HEADERS.refused .. "-path"] = "/pets",
      [HEADERS.refused .. "-authorization"] = "Bearer a",
    },
    body = body,
  })
end

test("a response of the judge - with the server's error leads to no further call", function()
  local pass = judge_response("POST", settings.errors.rest.unavailable)
  equal({ #pass.calls, pass.yields }, { 0, 0 })
  equal({ pass:header(":status"), pass.body }, { "503", settings.errors.rest.unavailable })
  equal({ pass:header("content-type"), pass:header("retry-after") }, { "application/json", "30" })
  equal({ pass:header(HEADERS.code), pass:header(HEADERS.grpc_status) }, { "UNAVAILABLE", "14" })
  for _, name in ipairs({ HEADERS.worded, HEADERS.refused, HEADERS.refused .. "-path" }) do
    equal(pass:header(name), nil, name)
  end
  equal(pass:header(HEADERS.refused .. "-authorization"), nil)
end)

test("a response of the judge - with the server's error has no body for HEAD, and its length", function()
  local pass = judge_response("HEAD", nil)
  equal(
    { pass:header(":status"), pass:header("content-length") },
    { "503", tostring(#settings.errors.rest.unavailable) }
  )
  equal({ body = pass.body, type = pass:header("content-type") }, { type = "application/json" })
end)

test("a response of this filter - without the server's error is handled like a local reply of Envoy", function()
  for _, status in ipairs({ "400", "404", "413", "415" }) do
    local pass = envoy.response(fresh("responses").on_response, {
      headers = { [":status"] = status, [HEADERS.refused] = "POST" },
      server = error_from_server("404", NOT_FOUND),
    })
    equal({ #pass.calls, pass:header(":status"), pass.body }, { 1, "404", NOT_FOUND })
  end
end)

-- The fields of the question to the server for a request with this message of Envoy.
local function refuse_request(reply, path)
  local responses = fresh("responses")
  local fields
  require("edge_service").call = function(_, _, values)
    fields = values
  end
  envoy.response(responses.on_response, {
    headers = { [":status"] = "400", [HEADERS.refused] = "POST", [HEADERS.refused .. "-path"] = path },
    body = reply,
    metadata = { ["petstore.rest"] = { request = { content_type = "application/json" } } },
  })
  return fields
end

test("a call of Refuse - has the request and Envoy's message", function()
  equal(refuse_request("Unexpected token.", "/pets?x=1"), {
    method = "POST",
    path = "/pets?x=1",
    status = 400,
    reply = "Unexpected token.",
    content_type = "application/json",
  })
end)

test("a call of Refuse - has the beginning of a long message of Envoy", function()
  local reply = 'quantity: invalid value "' .. ("x"):rep(MAX) .. '" for type TYPE_INT32'
  equal(refuse_request(reply, "/pets").reply, reply:sub(1, 1000))
end)
