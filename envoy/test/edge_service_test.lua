-- edge_service.lua: what callers see of the server's responses. test/edge/lua.test.ts reads the messages to the server
-- with the server's own decoder.

local harness = require("harness")
local settings = require("settings")

local test, equal, fresh = harness.test, harness.equal, harness.fresh
local HEADERS = settings.headers

local NOT_FOUND = '{"code":"PET_NOT_FOUND","message":"there is no pet 7","status":404}'

test("an error response - has the error, its status and the headers of the API, and nothing of gRPC", function()
  local seen = {
    [":status"] = "404",
    ["retry-after"] = "30",
    ["x-ratelimit-reset"] = "1700000000",
    allow = "GET, HEAD",
    [HEADERS.key] = "2", -- petstore.log takes such headers out
  }
  local response = {
    ["content-type"] = "application/json",
    ["content-length"] = tostring(#NOT_FOUND),
    ["grpc-status"] = "5",
    ["grpc-status-details-bin"] = "x",
    date = "now",
    server = "petstore",
    ["x-envoy-upstream-service-time"] = "1",
  }
  for name, value in pairs(seen) do
    response[name] = value
  end
  for _, shape in ipairs({ "connect", "rest" }) do
    local headers, error = fresh("edge_service").error_response(response, NOT_FOUND, 413, shape)
    equal({ headers, error }, { seen, NOT_FOUND })
  end
end)

test("an error response - is a 504 after the timeout, else a 503 with Retry-After, if there is no response", function()
  local edge_service = fresh("edge_service")
  for shape, errors in pairs(settings.errors) do
    equal({ edge_service.error_response(nil, nil, 504, shape) }, {
      { [":status"] = "504", [HEADERS.code] = "DEADLINE_EXCEEDED", [HEADERS.grpc_status] = "4" },
      errors.deadline_exceeded,
    })
    for _, status in ipairs({ 400, 413, 500, 503 }) do
      local headers, error = edge_service.error_response(nil, nil, status, shape)
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
