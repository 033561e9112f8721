-- What the filters must agree on about a request: whether it is REST, gRPC or Connect, and what is kept of it for the
-- way back.

local M = {}

-- The content types of gRPC-Web, as Envoy's filter knows them.
local GRPC_WEB = {
  ["application/grpc-web"] = true,
  ["application/grpc-web+proto"] = true,
  ["application/grpc-web-text"] = true,
  ["application/grpc-web-text+proto"] = true,
}

-- Whether a request is native gRPC or gRPC-Web. A type that only begins like theirs is REST.
function M.is_grpc(content_type)
  return content_type == "application/grpc" or content_type:find("^application/grpc%+") or GRPC_WEB[content_type]
end

-- Where the methods of gRPC and Connect are. No path of REST begins so.
local SERVICES = "/petstore.v1."

-- Whether a request is a call of the Connect protocol (https://connectrpc.com/docs/protocol), of a kind that is taken
-- here or not. What has JSON is one when it says the protocol's version.
function M.is_connect(headers, content_type)
  if content_type == "" then return false end
  local path = headers:get(":path")
  if not path or path:sub(1, #SERVICES) ~= SERVICES or headers:get(":method") ~= "POST" then return false end
  if content_type == "application/proto" or content_type:find("^application/connect%+") then return true end
  return content_type:find("^application/json") and headers:get("connect-protocol-version") and true or false
end

-- Where Envoy keeps it, among the stream's dynamic metadata.
local NAMESPACE = "petstore.rest"

-- Keeps what the way back needs of a request that has a body.
function M.keep(handle, request)
  handle:streamInfo():dynamicMetadata():set(NAMESPACE, "request", request)
end

-- What was kept; nil when the request had no body.
function M.kept(handle)
  local metadata = handle:streamInfo():dynamicMetadata():get(NAMESPACE)
  return metadata and metadata.request
end

return M
