-- Decides by a request's headers who may use Envoy's memory and the server's time, before anything of the request is
-- awaited:
--
-- * A request with a known key passes.
-- * Any other request must be within the allowance of its address (allowance.lua). Without a key of the right format
--   it has another allowance than with one: so a neighbour's noise locks out no valid key.
-- * Then the server judges the caller of a REST or Connect request by the headers. gRPC calls go on at once, to the
--   slots of anonymous callers: the server judges them by their headers too.
-- * Health checks, reflection and files need no key. They have an allowance of their own.
--
-- This only protects Envoy and the server's time: the server checks each request itself.

local allowance = require("allowance")
local edge_service = require("edge_service")
local grpc_message = require("grpc_message")
local keys = require("keys")
local request = require("request")
local settings = require("settings")

local HEADERS = settings.headers

local M = {}

-- In the stream's dynamic metadata: an anonymous caller's key, until the response.
local NAMESPACE = "petstore.key"

-- Whether a request needs no key and sends no body.
local function is_open(headers, is_grpc)
  local path = headers:get(":path") or "" -- CONNECT has none
  if is_grpc then return path:find("^/grpc%.health%.v1%.Health/") or path:find("^/grpc%.reflection%.") end
  if path:find("?", 1, true) then path = path:match("^[^?]*") end
  if not settings.open_paths[path] then return false end
  local method, length = headers:get(":method"), headers:get("content-length")
  return length == "0" or not length and (method == "GET" or method == "HEAD")
end

-- The end of a gRPC-Web response, with the trailers in the body: Envoy drops the content type of a response that has
-- none, and clients in Go and Dart take no response without the type.
local function web_trailers(handle, trailers, content_type)
  local lines = {}
  for name, value in pairs(trailers) do
    lines[#lines + 1] = name .. ": " .. value .. "\r\n"
  end
  local frame = grpc_message.frame(table.concat(lines), 128)
  return content_type:find("^application/grpc%-web%-text") and handle:base64Escape(frame) or frame
end

-- Refuses a request beyond the allowance, in the shape of its protocol.
local function refuse(handle, headers, content_type, is_grpc)
  local reply = {
    [":status"] = "429",
    ["content-type"] = "application/json",
    ["retry-after"] = "1",
    ["x-ratelimit-limit"] = tostring(settings.address_burst),
    ["x-ratelimit-remaining"] = "0",
    ["x-ratelimit-reset"] = tostring(math.floor(handle:timestamp() / 1000) + 1),
    ["ratelimit-policy"] = settings.flood_policy,
    ["ratelimit"] = '"burst";r=0;t=1',
    [HEADERS.code] = "RATE_LIMITED",
    [HEADERS.grpc_status] = "8",
  }
  if not is_grpc then
    local errors = request.is_connect(headers, content_type) and settings.errors.connect or settings.errors.rest
    return handle:respond(reply, errors.flood)
  end
  local trailers = {
    ["grpc-status"] = "8",
    ["grpc-message"] = settings.flood_status.message,
    ["grpc-status-details-bin"] = settings.flood_status.details,
    ["grpc-retry-pushback-ms"] = "1000",
  }
  if content_type:find("^application/grpc%-web") then
    reply[":status"], reply["content-type"] = "200", content_type
    return handle:respond(reply, web_trailers(handle, trailers, content_type))
  end
  for name, value in pairs(trailers) do
    reply[name] = value
  end
  handle:respond(reply, "") -- Envoy makes it a response of gRPC
end

local function check(handle)
  local headers = handle:headers()
  local content_type = headers:get("content-type") or ""
  local is_grpc = request.is_grpc(content_type)
  local now_ms = handle:timestamp()
  if is_open(headers, is_grpc) then
    if allowance.take("open ", headers:get("x-forwarded-for"), now_ms) then return end
    return refuse(handle, headers, content_type, is_grpc)
  end
  local authorization = headers:get("authorization")
  local is_known, must_renew = keys.is_known(authorization, now_ms)
  if is_known and not must_renew then return end
  local spelling, key = keys.normalize(authorization)
  if spelling and spelling ~= authorization then
    headers:replace("authorization", spelling)
    is_known, must_renew = keys.is_known(spelling, now_ms)
    if is_known and not must_renew then return end
  end
  if not is_known then
    local kind = key and keys.is_well_formed(key) and "key " or "none "
    if not allowance.take(kind, headers:get("x-forwarded-for"), now_ms) then
      return refuse(handle, headers, content_type, is_grpc)
    end
  end
  if is_grpc then
    headers:replace(HEADERS.anonymous, "1")
    handle:clearRouteCache()
    if spelling then handle:streamInfo():dynamicMetadata():set(NAMESPACE, "authorization", spelling) end
    return
  end
  local is_valid, reply, body = edge_service.judge(handle)
  if is_valid and spelling then keys.learn(spelling, handle:timestamp()) end
  if reply then handle:respond(reply, body) end
end

function M.on_request(handle)
  check(handle)
  if not handle:headers():get(":path") then handle:respond({ [":status"] = "404" }, "") end -- CONNECT
end

-- Learns the key of an anonymous call that the server has accepted.
function M.on_accepted(handle)
  local saved = handle:streamInfo():dynamicMetadata():get(NAMESPACE)
  if saved then keys.learn(saved.authorization, handle:timestamp()) end
end

return M
