-- What the gRPC-JSON transcoder leaves undone on the REST side. It contains no rule and no message of the API: the
-- server decides on every error, also on those that Envoy detects. gen/edge/tables.lua has what the filters need to
-- know of the proto files and of the server.
--
-- The server's response to a REST request is plain HTTP, and passes unchanged.
--
-- Native gRPC and gRPC-Web pass unchanged. connect.lua converts Connect calls to gRPC.

local connect = require("connect")
local edge_service = require("edge_service")
local known_keys = require("known_keys")
local metadata = require("metadata")
local request = require("request")
local tables = require("tables")

local HEADERS = tables.headers

local M = {}

-- Requests ------------------------------------------------------------------------------------------------------------

-- Invalid JSON that the transcoder accepts. The patterns apply to JSON with empty strings.
local INVALID = {
  "'", -- single quotes
  '[^"%s]%s*:', -- a key without quotes
  ",%s*[%]}]", -- a comma before a closing bracket
  "%.%D", -- a point without a digit after it: 1.
  "%D%.", -- or before it: -.5
  "%f[%d.eE+-]%-?0[%dx]", -- a leading zero or a hexadecimal number: 01.5 and 0x1e
}

-- Whether text that the transcoder accepts is valid JSON (RFC 8259).
function M.is_json(text)
  if text:find("[%z\1-\8\11\12\14-\31]") then return false end
  local plain = text -- without escapes
  if text:find("\\", 1, true) then
    plain = text:gsub('\\["\\/bfnrtu]', "")
    if plain:find("\\", 1, true) then return false end
  end
  if plain:find("[\t\n\r]") then
    for content in plain:gmatch('"([^"]*)"') do
      if content:find("[\t\n\r]") then return false end
    end
  end
  local skeleton = plain:gsub('"[^"]*"', '""')
  for _, pattern in ipairs(INVALID) do
    if skeleton:find(pattern) then return false end
  end
  return true
end

-- envoy.yaml skips judge.lua for these methods, so that a GET costs no more. If such a request has a body, its caller
-- is authenticated here, after the body has been read (64 KiB at most): Envoy can't read the body after that call.
local EXPECTS_NO_BODY = { GET = true, HEAD = true, DELETE = true }

-- Returns the body's text, or nil if there is none. Without a length only reading tells. Also returns nil if it has
-- responded to the request: the body is too large, or the caller is refused.
local function read_body(handle)
  local length = handle:headers():get("content-length")
  if length == "0" then return nil end
  if length and tonumber(length) > tables.max_body_bytes then return handle:respond({ [":status"] = "413" }, "") end
  local body = handle:body()
  local bytes = body and body:length() or 0
  if bytes == 0 then return nil end
  if bytes > tables.max_body_bytes then return handle:respond({ [":status"] = "413" }, "") end
  local text = body:getBytes(0, bytes)
  local is_authenticated = length or not EXPECTS_NO_BODY[handle:headers():get(":method")]
  if not is_authenticated and not edge_service.judge(handle) then return nil end
  return text
end

function M.on_request(handle)
  local headers = handle:headers()
  known_keys.on_request(handle, headers)
  local content_type = headers:get("content-type") or ""
  if request.is_grpc(content_type) then return end
  if request.is_connect(headers, content_type) then
    request.save(handle, { authorization = headers:get("authorization"), is_connect = true })
    return connect.to_grpc(handle, read_body(handle) or "")
  end
  local text = read_body(handle)
  if not text then return end
  headers = handle:headers() -- Envoy invalidates objects while the script is suspended
  content_type = metadata.printable(content_type)
  headers:replace(HEADERS.body_type, content_type)
  request.save(handle, { authorization = headers:get("authorization"), content_type = content_type })
  if not M.is_json(text) then handle:respond({ [":status"] = "400" }, "") end
end

-- Responses -----------------------------------------------------------------------------------------------------------

-- Removes a header and returns its value.
local function take(headers, name)
  local value = headers:get(name)
  headers:remove(name)
  return value
end

-- The request that a local reply is for. Envoy describes it in headers of the reply (local_reply_config in envoy.yaml).
local function take_request(headers)
  return {
    method = take(headers, HEADERS.refused),
    path = take(headers, HEADERS.refused .. "-path") or "",
    caller = {
      authorization = take(headers, HEADERS.refused .. "-authorization"),
      forwarded_for = take(headers, HEADERS.refused .. "-forwarded-for"),
      request_id = take(headers, HEADERS.refused .. "-request-id"),
    },
  }
end

-- Envoy's message is cut to this length: it may quote a value that is as long as a body.
local MAX_REPLY_BYTES = 1000

-- Asks the server for the error that the caller gets. Returns its headers and its body.
local function fetch_error(handle, refused, status, reply)
  local saved = request.saved(handle) or {}
  refused.caller.is_connect = saved.is_connect
  local response, error
  if status < 500 then
    response, error = edge_service.call(handle, "refuse", {
      method = refused.method,
      path = refused.path,
      status = status,
      reply = reply:sub(1, MAX_REPLY_BYTES),
      content_type = saved.content_type,
    }, refused.caller)
  elseif not tables.open_paths[refused.path:match("^[^?]*")] then -- such a path needs no key
    response, error = edge_service.call(handle, "fail", { status = status }, refused.caller)
  end
  return edge_service.error_response(response, error, status, saved.is_connect)
end

-- Handles a local reply: a response of Envoy itself, or of these filters.
local function on_local_reply(handle)
  local headers = handle:headers()
  local refused = take_request(headers)
  if take(headers, HEADERS.worded) then return headers:replace("content-type", "application/json") end
  local status = tonumber(headers:get(":status"))
  local body = handle:body(true) -- before the script is suspended: Envoy can't read it later
  local error_headers, error = fetch_error(handle, refused, status, body:getBytes(0, body:length()))
  handle:body(true):setBytes(refused.method == "HEAD" and "" or error) -- HEAD has the length of a body, and none
  headers = handle:headers()
  headers:remove("retry-after")
  for name, value in pairs(error_headers) do
    headers:replace(name, value)
  end
  headers:replace("content-type", "application/json")
  headers:replace("content-length", tostring(#error))
end

-- Removes what the transcoder leaves of the gRPC call when it returns a file.
local function remove_grpc(handle)
  local headers = handle:headers()
  headers:remove("grpc-encoding")
  headers:remove("grpc-accept-encoding")
  local trailers = handle:trailers()
  if not trailers then return end
  trailers:remove("grpc-status")
  trailers:remove("grpc-message")
end

-- envoy.yaml runs this only for responses with one of these headers.
function M.on_response(handle)
  local headers = handle:headers()
  if headers:get(HEADERS.refused) then return on_local_reply(handle) end
  if take(headers, HEADERS.accepted) then known_keys.on_accepted(handle) end
  local length = take(headers, HEADERS.length)
  if not length then return end
  headers:replace("content-length", length)
  remove_grpc(handle)
end

return M
