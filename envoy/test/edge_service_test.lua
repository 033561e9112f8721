-- edge_service.lua: what the filters send to the server, and what callers see of its responses. test/edge/lua.test.ts
-- reads the messages with the server's own decoder.

local envoy = require("fake_envoy")
local harness = require("harness")
local settings = require("settings")

local test, equal, fresh = harness.test, harness.equal, harness.fresh
local HEADERS = settings.headers

local NOT_FOUND = '{"code":"PET_NOT_FOUND","message":"there is no pet 7","status":404}'

local JSON = "application/json"

-- Calls the server, which returns this response. Returns what `call` returns: headers and error.
local function call(response, body)
  local edge_service, headers, error = fresh("edge_service"), nil, nil
  local script = function(handle)
    headers, error = edge_service.call(handle, "fail", { status = 503 }, {})
  end
  envoy.request(script, {
    server = function()
      return response, body
    end,
  })
  return { headers = headers, error = error }
end

test("a call - has the caller's credentials, and a timeout of two seconds by default", function()
  local edge_service = fresh("edge_service")
  local caller = { authorization = "Bearer a", forwarded_for = "10.0.0.1", request_id = "id-1" }
  local pass = envoy.request(function(handle)
    edge_service.call(handle, "fail", { status = 503 }, caller)
  end, {})
  local sent = pass.calls[1]
  equal(sent.headers[":path"], "/petstore.edge.v1.EdgeService/Fail")
  equal(sent.headers.authorization, "Bearer a")
  equal(sent.headers["x-forwarded-for"], "10.0.0.1")
  equal(sent.headers["x-request-id"], "id-1")
  equal(sent.headers[HEADERS.edge], settings.edge_secret)
  equal(sent.options, { timeout_ms = 2000, send_xff = false })
end)

test("a call - returns no error for a success, whatever its message", function()
  local response = { [":status"] = "200", ["content-type"] = "application/grpc" }
  for _, message in ipairs({ "\0\0\0\0\0", "" }) do
    equal(call(response, message), { headers = response })
  end
end)

test("a call - returns an error of the server, whatever its status", function()
  for _, status in ipairs({ "400", "401", "404", "429", "500", "503", "504" }) do
    local response = { [":status"] = status, ["content-type"] = JSON }
    equal(call(response, NOT_FOUND), { headers = response, error = NOT_FOUND })
  end
end)

test("a call - returns nil for Envoy's own error about an unreachable server", function()
  equal(call({ [":status"] = "200", ["grpc-status"] = "14", ["content-type"] = "application/grpc" }), {})
  equal(call({ [":status"] = "503" }, "upstream failure"), {})
  equal(call({ [":status"] = "503" }), {})
  equal(call({ [":status"] = "504", ["content-type"] = "text/plain" }, "upstream request timeout"), {})
end)

test("an error response - has the error, its status and the headers of the API, and nothing of gRPC", function()
  local seen = {
    [":status"] = "404",
    ["retry-after"] = "30",
    ["www-authenticate"] = "Bearer",
    allow = "GET, HEAD",
    ["x-ratelimit-limit"] = "60",
    ["x-ratelimit-remaining"] = "59",
    ["x-ratelimit-reset"] = "1700000000",
    link = '</pets>; rel="next"',
    deprecation = "@1",
  }
  local log = { -- petstore.log takes them out
    [HEADERS.account] = "1",
    [HEADERS.key] = "2",
    [HEADERS.code] = "PET_NOT_FOUND",
    [HEADERS.grpc_status] = "5",
  }
  local response = {
    ["content-type"] = JSON,
    ["content-length"] = tostring(#NOT_FOUND),
    ["content-encoding"] = "identity",
    ["grpc-status"] = "5",
    ["grpc-message"] = "x",
    ["grpc-status-details-bin"] = "x",
    ["grpc-encoding"] = "identity",
    ["grpc-accept-encoding"] = "gzip",
    ["grpc-retry-pushback-ms"] = "1",
    date = "now",
    server = "petstore",
    ["x-envoy-upstream-service-time"] = "1",
  }
  for name, value in pairs(log) do
    seen[name] = value
  end
  for name, value in pairs(seen) do
    response[name] = value
  end
  for _, is_connect in ipairs({ true, false }) do
    local headers, error = fresh("edge_service").error_response(response, NOT_FOUND, 413, is_connect)
    equal({ headers, error }, { seen, NOT_FOUND })
  end
end)

test("an error response - is a 504 after the timeout, else a 503 with Retry-After, if there is no response", function()
  local edge_service = fresh("edge_service")
  for is_connect, errors in pairs({ [true] = settings.errors.connect, [false] = settings.errors.rest }) do
    equal({ edge_service.error_response(nil, nil, 504, is_connect) }, {
      { [":status"] = "504", [HEADERS.code] = "DEADLINE_EXCEEDED", [HEADERS.grpc_status] = "4" },
      errors.deadline_exceeded,
    })
    for _, status in ipairs({ 400, 404, 413, 500, 502, 503 }) do
      local headers, error = edge_service.error_response(nil, nil, status, is_connect)
      equal(headers, {
        [":status"] = "503",
        ["retry-after"] = "1",
        [HEADERS.code] = "UNAVAILABLE",
        [HEADERS.grpc_status] = "14",
      }, status)
      equal(error, errors.unavailable)
    end
  end
end)
