-- Converts a unary call of the Connect protocol (https://connectrpc.com/docs/protocol) in Protobuf to gRPC. Paths,
-- headers and messages are the same. gRPC adds a frame around the message.

local grpc_message = require("grpc_message")
local settings = require("settings")

local M = {}

-- A Connect caller can't use these.
local GRPC_HEADERS = { "grpc-timeout", "grpc-encoding", "grpc-accept-encoding" }

local function is_supported(headers)
  local encoding, version = headers:get("content-encoding"), headers:get("connect-protocol-version")
  return headers:get("content-type") == "application/proto"
    and (not encoding or encoding == "identity")
    and (not version or version == "1")
end

-- The value of grpc-timeout, in milliseconds. gRPC allows eight digits.
local function grpc_timeout(headers)
  local timeout_ms = (headers:get("connect-timeout-ms") or ""):match("^%d+$")
  if not timeout_ms then return nil end
  return (#timeout_ms > 8 and "99999999" or timeout_ms) .. "m"
end

-- Converts the request to gRPC. Refuses a call that is not supported.
function M.on_request(handle)
  local body = handle:body()
  local headers = handle:headers()
  local length = body and body:length() or 0
  if length > settings.max_body_bytes then return handle:respond({ [":status"] = "413" }, "") end
  if not settings.operations[headers:get(":path")] then return handle:respond({ [":status"] = "404" }, "") end
  if not is_supported(headers) then return handle:respond({ [":status"] = "415" }, "") end
  local timeout = grpc_timeout(headers)
  for i = 1, #GRPC_HEADERS do
    headers:remove(GRPC_HEADERS[i])
  end
  if timeout then headers:add("grpc-timeout", timeout) end
  headers:replace("content-type", "application/grpc+proto")
  headers:replace("te", "trailers")
  headers:replace(settings.headers.connect, "1")
  handle:clearRouteCache()
  handle:metadata() -- selects the new route now: the old route's buffer has no room for the frame around 64 KiB
  handle:body(true):setBytes(grpc_message.frame(body and body:getBytes(0, length) or ""))
end

return M
