-- questions.lua: what is sent to the server, and what of its answers the caller sees. That the messages are protobuf is
-- tested with the server's own decoder, in test/edge/lua.test.ts.

local envoy = require("fake_envoy")
local harness = require("harness")
local tables = require("tables")

local test, equal, fresh = harness.test, harness.equal, harness.fresh
local ERROR = tables.headers.error

local NOT_FOUND = '{"code":"PET_NOT_FOUND","message":"there is no pet 7","status":404}'

-- What `ask` makes of an answer.
local function ask(answer)
  local questions, result = fresh("questions"), nil
  local script = function(handle) result = questions.ask(handle, "fail", { status = 503 }, {}) end
  envoy.request(script, { server = function() return answer end })
  return result
end

test("a question - has the caller's credentials, and waits two seconds unless told", function()
  local questions = fresh("questions")
  local caller = { authorization = "Bearer a", forwarded_for = "10.0.0.1", request_id = "id-1" }
  local pass = envoy.request(function(handle) questions.ask(handle, "fail", { status = 503 }, caller) end, {})
  local call = pass.calls[1]
  equal(call.headers[":path"], "/petstore.edge.v1.EdgeService/Fail")
  equal(call.headers.authorization, "Bearer a")
  equal(call.headers["x-forwarded-for"], "10.0.0.1")
  equal(call.headers["x-request-id"], "id-1")
  equal(call.options, { timeout_ms = 2000, send_xff = false })
end)

test("a question - is answered by a success, and by an error of ours whatever its status", function()
  equal(ask({ [":status"] = "200" }), { [":status"] = "200" })
  for _, status in ipairs({ "200", "503" }) do
    local answer = { [":status"] = status, ["grpc-status"] = "5", [ERROR] = NOT_FOUND }
    equal(ask(answer), answer)
  end
end)

test("a question - is not answered by what Envoy says of a server that it can't reach", function()
  equal(ask({ [":status"] = "200", ["grpc-status"] = "14" }), nil)
  equal(ask({ [":status"] = "503" }), nil)
  equal(ask({ [":status"] = "504", ["content-type"] = "text/plain" }), nil)
end)

test("what a caller sees of an answer - is the error, the headers of ours, and the status alone of gRPC", function()
  local seen = {
    [ERROR] = NOT_FOUND, ["retry-after"] = "30", ["www-authenticate"] = "Bearer", allow = "GET, HEAD",
    ["x-ratelimit-limit"] = "60", ["x-ratelimit-remaining"] = "59", ["x-ratelimit-reset"] = "1700000000",
    link = '</pets>; rel="next"', deprecation = "@1", ["grpc-status"] = "5",
  }
  local answer = {
    [":status"] = "200", ["content-type"] = "application/grpc", ["content-length"] = "0",
    ["grpc-message"] = "x", ["grpc-status-details-bin"] = "x", ["grpc-retry-pushback-ms"] = "1", date = "now",
    server = "petstore", ["x-envoy-upstream-service-time"] = "1",
  }
  for name, value in pairs(seen) do answer[name] = value end
  equal(fresh("questions").for_caller(answer, 404), seen)
end)

test("what a caller sees without an answer - is 504 for what came too late, else 503 with Retry-After", function()
  local questions = fresh("questions")
  local code = tables.headers.code
  local late = { [ERROR] = tables.deadline_exceeded, [code] = "DEADLINE_EXCEEDED", ["grpc-status"] = "4" }
  equal(questions.for_caller(nil, 504), late)
  for _, status in ipairs({ 400, 404, 413, 500, 502, 503 }) do
    equal(questions.for_caller(nil, status), {
      [ERROR] = tables.unavailable, ["retry-after"] = "1", [code] = "UNAVAILABLE", ["grpc-status"] = "14",
    }, status)
  end
end)

test("the status of an error - is its own, whatever its message says", function()
  local status_of = fresh("questions").status_of
  equal(status_of(NOT_FOUND), "404")
  equal(status_of(tables.unavailable), "503")
  equal(status_of(tables.deadline_exceeded), "504")
  equal(status_of('{"code":"X","message":"he said {\\"status\\":200}","status":400}'), "400")
end)
