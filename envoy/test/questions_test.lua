-- questions.lua: what is sent to the server, and what of its answers the caller sees. That the messages are protobuf is
-- tested with the server's own decoder, in test/edge/lua.test.ts.

local envoy = require("fake_envoy")
local harness = require("harness")
local tables = require("tables")

local test, equal, fresh = harness.test, harness.equal, harness.fresh
local HEADERS = tables.headers

local NOT_FOUND = '{"code":"PET_NOT_FOUND","message":"there is no pet 7","status":404}'

local JSON = "application/json"

-- What `ask` makes of an answer: its headers, and the error.
local function ask(answer, body)
  local questions, headers, error = fresh("questions"), nil, nil
  local script = function(handle)
    headers, error = questions.ask(handle, "fail", { status = 503 }, {})
  end
  envoy.request(script, {
    server = function()
      return answer, body
    end,
  })
  return { headers = headers, error = error }
end

test("a question - has the caller's credentials, and waits two seconds unless told", function()
  local questions = fresh("questions")
  local caller = { authorization = "Bearer a", forwarded_for = "10.0.0.1", request_id = "id-1" }
  local pass = envoy.request(function(handle)
    questions.ask(handle, "fail", { status = 503 }, caller)
  end, {})
  local call = pass.calls[1]
  equal(call.headers[":path"], "/petstore.edge.v1.EdgeService/Fail")
  equal(call.headers.authorization, "Bearer a")
  equal(call.headers["x-forwarded-for"], "10.0.0.1")
  equal(call.headers["x-request-id"], "id-1")
  equal(call.options, { timeout_ms = 2000, send_xff = false })
end)

test("a question - is answered by a success, which is no error, whatever its message", function()
  local answer = { [":status"] = "200", ["content-type"] = "application/grpc" }
  for _, message in ipairs({ "\0\0\0\0\0", "" }) do
    equal(ask(answer, message), { headers = answer })
  end
end)

test("a question - is answered by an error of the server, whatever its status", function()
  for _, status in ipairs({ "400", "401", "404", "429", "500", "503", "504" }) do
    local answer = { [":status"] = status, ["content-type"] = JSON }
    equal(ask(answer, NOT_FOUND), { headers = answer, error = NOT_FOUND })
  end
end)

test("a question - is not answered by what Envoy says of a server that it can't reach", function()
  equal(ask({ [":status"] = "200", ["grpc-status"] = "14", ["content-type"] = "application/grpc" }), {})
  equal(ask({ [":status"] = "503" }, "upstream failure"), {})
  equal(ask({ [":status"] = "503" }), {})
  equal(ask({ [":status"] = "504", ["content-type"] = "text/plain" }, "upstream request timeout"), {})
end)

test("what a caller sees of an answer - is the error, its status, the headers of ours, and nothing of gRPC", function()
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
  local log = { -- envoy.yaml takes them out
    [HEADERS.account] = "1",
    [HEADERS.key] = "2",
    [HEADERS.code] = "PET_NOT_FOUND",
    [HEADERS.grpc_status] = "5",
  }
  local answer = {
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
    answer[name] = value
  end
  for _, is_connect in ipairs({ true, false }) do
    local headers, error = fresh("questions").for_caller(answer, NOT_FOUND, 413, is_connect)
    equal({ headers, error }, { seen, NOT_FOUND })
  end
end)

test("what a caller sees without an answer - is 504 for what came too late, else 503 with Retry-After", function()
  local questions = fresh("questions")
  for is_connect, errors in pairs({ [true] = tables.connect, [false] = tables }) do
    equal({ questions.for_caller(nil, nil, 504, is_connect) }, {
      { [":status"] = "504", [HEADERS.code] = "DEADLINE_EXCEEDED", [HEADERS.grpc_status] = "4" },
      errors.deadline_exceeded,
    })
    for _, status in ipairs({ 400, 404, 413, 500, 502, 503 }) do
      local headers, error = questions.for_caller(nil, nil, status, is_connect)
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
