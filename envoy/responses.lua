-- Handles responses that Envoy or a filter makes instead of the server, and headers of the server for the filters. The
-- server's response to a REST request is plain HTTP, and passes unchanged.

local caller = require("caller")
local edge_service = require("edge_service")
local keys = require("keys")
local settings = require("settings")

local HEADERS = settings.headers

local M = {}

-- Removes a header and returns its value.
local function pop(headers, name)
  local value = headers:get(name)
  if value then headers:remove(name) end
  return value
end

-- The request that a local reply is for. Envoy describes it in headers of the reply (envoy/config/local-replies.ts).
local function pop_request(headers)
  -- As in caller.lua: what has no route is judged.
  local content_type = pop(headers, HEADERS.refused_content_type)
  local judge, errors = (pop(headers, HEADERS.refused_kind) or ""):match("^(%l+) (%l+)$")
  local finding, at = (pop(headers, HEADERS.refused_finding) or ""):match("^(%d+) (.*)$")
  return {
    finding = finding and tonumber(finding),
    at = at,
    judge = judge,
    errors = errors or "rest",
    method = pop(headers, HEADERS.refused),
    path = pop(headers, HEADERS.refused_path) or "",
    authorization = pop(headers, HEADERS.refused_authorization),
    forwarded_for = pop(headers, HEADERS.refused_forwarded_for),
    request_id = pop(headers, HEADERS.refused_request_id),
    content_type = content_type and content_type:sub(2), -- as in rest.lua
  }
end

-- The server is not asked for long why it did not respond.
local FAIL_TIMEOUT_MS = 2000
-- What a filter says is cut to this length: a coding may be as long as all headers.
local MAX_REPLY_BYTES = 1000

-- A caller may send any bytes, and a field of Protobuf has UTF-8. Those that are not ASCII are percent-encoded.
local ENCODED = {}
for byte = 0, 255 do
  ENCODED[string.char(byte)] = ("%%%02X"):format(byte)
end

-- Asks the server for the error that the caller gets. Returns its headers and its body.
local function fetch_error(handle, refused, status, reply)
  local response, error
  if status < 500 or status == 501 then -- connect.lua has found what is not supported
    response, error, status = edge_service.call(handle, "refuse", {
      method = refused.method,
      path = (refused.path:gsub("[^ -~]", ENCODED)),
      status = status,
      reply = (refused.finding or status == 415) and reply:sub(1, MAX_REPLY_BYTES),
      finding = refused.finding,
      at = refused.at,
      content_type = refused.content_type,
    }, refused)
  elseif refused.judge ~= "nobody" then
    response, error = edge_service.call(handle, "fail", { status = status }, refused, FAIL_TIMEOUT_MS)
  end
  return edge_service.error_response(response, error, status, refused.errors)
end

-- Handles a local reply: a response of Envoy itself, or of these filters.
local function on_local_reply(handle)
  local headers = handle:headers()
  local refused = pop_request(headers)
  local status = tonumber(headers:get(":status"))
  local body = handle:body(true) -- before the script is suspended: Envoy can't read it later
  local reply = body:getBytes(0, body:length())
  -- Of too many frames the server is told by 422, which is never sent: the caller gets a 404, a 405 or a 400.
  local frames = handle:streamInfo():dynamicMetadata():get(caller.FRAMES)
  if frames then
    status, reply = tonumber(frames.status), frames.reply
  end
  local error_headers, error = fetch_error(handle, refused, status, reply)
  handle:body(true):setBytes(refused.method == "HEAD" and "" or error) -- HEAD has the length of a body, and none
  headers = handle:headers()
  for name, value in pairs(error_headers) do
    headers:replace(name, value)
  end
  headers:replace("content-type", "application/json")
  -- To HEAD Envoy has dropped what a filter says, the wrong value or the coding, which the response to GET quotes.
  if refused.method == "HEAD" and (status == 400 or status == 415) then return headers:remove("content-length") end
  headers:replace("content-length", tostring(#error))
end

function M.on_response(handle)
  local headers = handle:headers()
  if headers:get(HEADERS.refused) then return on_local_reply(handle) end
  -- Envoy drops the content type of a reply without a body, unless it knows the request's for one of gRPC.
  local type = pop(headers, HEADERS.refused_type)
  if type and not headers:get("content-type") then
    headers:replace("content-type", type:lower():match("^application/grpc%-web[%l+-]*") or "application/grpc")
  end
  local permission, limited = pop(headers, HEADERS.accepted), pop(headers, HEADERS.limited)
  if permission then caller.on_accepted(handle, permission, headers:get(HEADERS.account)) end
  if limited and not handle:streamInfo():dynamicMetadata():get(caller.KEYLESS) then
    keys.refuse(limited, tonumber(headers:get("retry-after") or ""), handle:timestamp())
  end
  local length = pop(headers, HEADERS.length)
  if length then headers:replace("content-length", length) end
end

return M
