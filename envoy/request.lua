-- The protocol of a request, and what the filters save of it for the response.

local M = {}

-- The content types that Envoy's gRPC-Web filter accepts.
local GRPC_WEB = {
  ["application/grpc-web"] = true,
  ["application/grpc-web+proto"] = true,
  ["application/grpc-web-text"] = true,
  ["application/grpc-web-text+proto"] = true,
}

-- Whether a request is native gRPC or gRPC-Web. Any other type with one of these prefixes is REST.
function M.is_grpc(content_type)
  return content_type == "application/grpc" or content_type:find("^application/grpc%+") or GRPC_WEB[content_type]
end

-- The prefix of gRPC and Connect methods. No REST path has it.
local SERVICES = "/petstore.v1."

-- Whether a request is a Connect call (https://connectrpc.com/docs/protocol), supported or not. With JSON it is one if
-- it has the header with the protocol's version.
function M.is_connect(headers, content_type)
  if content_type == "" then return false end
  local path = headers:get(":path")
  if not path or path:sub(1, #SERVICES) ~= SERVICES or headers:get(":method") ~= "POST" then return false end
  if content_type == "application/proto" or content_type:find("^application/connect%+") then return true end
  return content_type:find("^application/json") and headers:get("connect-protocol-version") and true or false
end

-- In the stream's dynamic metadata.
local NAMESPACE = "petstore.rest"

-- Saves what the response needs of a request with a body.
function M.save(handle, request)
  handle:streamInfo():dynamicMetadata():set(NAMESPACE, "request", request)
end

-- Returns what was saved, or nil if the request had no body.
function M.saved(handle)
  local metadata = handle:streamInfo():dynamicMetadata():get(NAMESPACE)
  return metadata and metadata.request
end

return M
