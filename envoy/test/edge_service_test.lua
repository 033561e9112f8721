-- edge_service.lua: what callers see of the server's responses. test/envoy/lua.test.ts reads the messages to the server
-- with the server's own decoder.

local harness = require("harness")
local settings = require("settings")

local test, equal = harness.test, harness.equal
local HEADERS = settings.headers
local error_response = harness.fresh("edge_service").error_response

test("an error response - has the error, its status and the headers of the API, and nothing of gRPC", function()
  local response = { [":status"] = "404", ["retry-after"] = "30", allow = "GET, HEAD", [HEADERS.key] = "2" }
  local seen = { [":status"] = "404", ["retry-after"] = "30", allow = "GET, HEAD", [HEADERS.key] = "2" }
  for name in ("content-type content-length grpc-status x-envoy-upstream-service-time date server"):gmatch("%S+") do
    response[name] = "x"
  end
  equal({ error_response(response, "{}", 413, "rest") }, { seen, "{}" })
end)

test("an error response - is a 504 after the timeout, else a 503 with Retry-After, if there is no response", function()
  for _, shape in ipairs({ "rest", "connect" }) do
    local late = { [":status"] = "504", [HEADERS.code] = "DEADLINE_EXCEEDED", [HEADERS.grpc_status] = "4" }
    equal({ error_response(nil, nil, 504, shape) }, { late, settings.replies.late[shape].body })
    local away = { [":status"] = "503", [HEADERS.code] = "UNAVAILABLE", [HEADERS.grpc_status] = "14" }
    away["retry-after"] = "1"
    equal({ error_response(nil, nil, 413, shape) }, { away, settings.replies.unavailable[shape].body })
  end
end)

test("a question to a server that can't be reached - tells nothing of the key: its question goes on", function()
  local edge_service, keys = harness.fresh("edge_service"), require("keys")
  local answer = { [":status"] = "503" }
  local handle = {
    timestamp = function()
      return 0
    end,
    httpCall = function()
      return answer, "no healthy upstream"
    end,
  }
  local function call()
    edge_service.call(handle, "judge", {}, { authorization = "Bearer a", errors = "rest", anonymous = "1" })
  end
  keys.ask("Bearer a", 0)
  call()
  equal({ keys.is_asked("Bearer a", 0) }, { true })
  answer = { [":status"] = "401", [HEADERS.code] = "API_KEY_INVALID", [HEADERS.limited] = "Bearer a" }
  call()
  equal({ keys.is_asked("Bearer a", 0) }, { false })
end)
