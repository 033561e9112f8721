-- A client of the gRPC server's EdgeService (apiplatform.edge.v1). The server authenticates callers for Envoy, and
-- decides on the errors of requests that never reach a service.

local grpc_message = require("grpc_message")
local keys = require("keys")
local settings = require("settings")

local M = {}

local CLUSTERS, HEADERS = settings.clusters, settings.headers
-- The clock counts whole milliseconds, and a timer may fire a millisecond early.
local CLOCK_SLACK_MS = 100

-- Calls a method of EdgeService. `values` are the request's fields. The server authenticates the caller by `caller`:
-- authorization, forwarded_for, request_id. caller.errors is the shape of an error. With caller.anonymous Envoy learns
-- the key if it is valid.
-- Returns the response's headers, and the body of an error; nil, nil and a status if the server does not respond: 504
-- if it is too late, otherwise 503.
function M.call(handle, name, values, caller, timeout_ms)
  timeout_ms = timeout_ms or settings.call_timeout_ms
  local start_ms = handle:timestamp()
  local method = settings.edge_methods[name]
  local headers = {
    [":method"] = "POST",
    [":path"] = method.path,
    [":authority"] = CLUSTERS.calls,
    ["content-type"] = "application/grpc",
    ["te"] = "trailers",
    -- Hedging, as for reads: a server may be frozen. A question may go to the same server again, a read does not.
    ["x-envoy-retry-on"] = settings.retry_on,
    ["x-envoy-max-retries"] = tostring(settings.max_retries),
    ["x-envoy-upstream-rq-per-try-timeout-ms"] = tostring(settings.hedge_delay_ms),
    ["x-envoy-hedge-on-per-try-timeout"] = "true",
    ["authorization"] = caller.authorization,
    ["x-forwarded-for"] = caller.forwarded_for,
    ["x-request-id"] = caller.request_id,
    [HEADERS.edge] = settings.edge_secret,
    [HEADERS.connect] = caller.errors ~= "rest" and caller.errors or nil,
    [HEADERS.anonymous] = caller.anonymous,
  }
  local message = grpc_message.frame(grpc_message.encode(method.fields, values))
  local is_served = keys.has(caller.authorization) and not keys.is_refused(caller.authorization, start_ms)
  local cluster = is_served and CLUSTERS.calls or CLUSTERS.anonymous
  local response, body = handle:httpCall(cluster, headers, message, {
    timeout_ms = timeout_ms,
    send_xff = false,
  })
  local now_ms, is_success = handle:timestamp(), response[":status"] == "200" and not response["grpc-status"]
  if not (is_success or response[HEADERS.code]) then
    -- Envoy's own error, in plain text: it can't reach the server.
    return nil, nil, now_ms - start_ms >= timeout_ms - CLOCK_SLACK_MS and 504 or 503
  end
  local permission, limited = response[HEADERS.accepted], response[HEADERS.limited]
  response[HEADERS.accepted], response[HEADERS.limited] = nil, nil
  local spelling = caller.anonymous and keys.normalize(caller.authorization)
  -- Keys of gRPC calls, which go on without a question, caller.lua learns.
  if spelling and permission then keys.learn(spelling, now_ms, permission, response[HEADERS.account]) end
  if limited then keys.refuse(limited, tonumber(response["retry-after"]), now_ms) end
  return response, response[HEADERS.code] and (body or "") or nil
end

-- Returns the headers and the body of the response to the caller, with those for the access log. If the server
-- has returned no error, `status` decides: the one with which the request has failed.
function M.error_response(response, error, status, shape)
  if not error then
    local reply = settings.replies[status == 504 and "late" or "unavailable"][shape]
    response, error = reply.headers, reply.body
  end
  local headers = { [":status"] = response[":status"] }
  for name, value in pairs(response) do
    local is_transport = name:find("^:") or name:find("^content%-") or name:find("^x%-envoy%-")
    local is_of_question = is_transport or shape ~= "grpc" and name:find("^grpc%-")
    if not is_of_question and name ~= "date" and name ~= "server" then headers[name] = value end
  end
  return headers, error
end

-- Asks the server about the caller of a request, by its headers: only a refusal counts (edge.proto). Returns the
-- headers and the body of the response, if the caller may not send the request.
function M.judge(handle, errors)
  local headers = handle:headers()
  local response, error, status = M.call(handle, "judge", {}, {
    authorization = headers:get("authorization"),
    forwarded_for = headers:get("x-forwarded-for"),
    request_id = headers:get("x-request-id"),
    errors = errors,
    anonymous = "1",
  })
  if response and not error then return nil end
  local reply, body = M.error_response(response, error, status, errors)
  reply["content-type"] = "application/json"
  return reply, body
end

return M
