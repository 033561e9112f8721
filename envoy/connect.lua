-- Converts a unary call of the Connect protocol (https://connectrpc.com/docs/protocol) in Protobuf to gRPC. Paths,
-- headers and messages are the same. gRPC adds a frame around the message.

local grpc_message = require("grpc_message")
local settings = require("settings")

local M = {}

-- The status of what is no call, or is not supported; nil for a call.
function M.refusal(headers)
  local path = headers:get(":path")
  local name = path:match("^[^?]*")
  if not settings.operations[name] then return "404" end
  if headers:get(":method") ~= "POST" then return "405" end -- also Connect's GET, whose message is in the query
  if path ~= name then return "404" end
  local content_type = headers:get("content-type") or ""
  if content_type ~= "application/proto" then
    local is_connect = content_type == "application/json" or content_type:find("^application/connect%+")
    return is_connect and "501" or "415"
  end
  local encoding, version = headers:get("content-encoding"), headers:get("connect-protocol-version")
  if (encoding and encoding ~= "identity") or (version and version ~= "1") then return "501" end
end

-- The value of grpc-timeout: Connect allows ten digits of milliseconds, gRPC eight. The server refuses "-".
local function grpc_timeout(headers)
  local timeout_ms = headers:get("connect-timeout-ms")
  if not timeout_ms then return nil end
  if #timeout_ms > 10 or not timeout_ms:match("^%d+$") then return "-" end
  return #timeout_ms > 8 and (tonumber(timeout_ms:sub(1, -4)) + 1) .. "S" or timeout_ms .. "m"
end

-- Converts the request to gRPC. Refuses a call that is not supported.
function M.on_request(handle)
  local body = handle:body()
  local headers = handle:headers()
  local length = body and body:length() or 0
  if length > settings.max_body_bytes then return handle:respond({ [":status"] = "413" }, "") end
  local status = M.refusal(headers)
  if status then return handle:respond({ [":status"] = status }, "") end
  local timeout = grpc_timeout(headers)
  headers:remove("grpc-timeout")
  if timeout then headers:add("grpc-timeout", timeout) end
  headers:replace("content-type", "application/grpc+proto")
  headers:replace("te", "trailers")
  headers:replace(settings.headers.connect, "1")
  handle:clearRouteCache()
  handle:metadata() -- selects the new route now: the old route's buffer has no room for the frame around 64 KiB
  handle:body(true):setBytes(grpc_message.frame(body and body:getBytes(0, length) or ""))
end

return M
