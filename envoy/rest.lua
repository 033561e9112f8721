-- What the gRPC-JSON transcoder leaves undone on the REST side. It never invents a message or a rule: what is an error,
-- and what it says, the gRPC server decides, for requests that Envoy refuses itself too. What it must know of the proto
-- files and of the server stands in gen/edge/tables.lua.
--
-- The answer of the server to a REST request is not gRPC's, and passes as it is.
--
-- Native gRPC and gRPC-Web pass untouched. Of calls of the Connect protocol connect.lua makes gRPC.

local connect = require("connect")
local known_keys = require("known_keys")
local metadata = require("metadata")
local questions = require("questions")
local request = require("request")
local tables = require("tables")

local HEADERS = tables.headers

local M = {}

-- Requests ------------------------------------------------------------------------------------------------------------

-- What the transcoder forgives outside of strings, which are empty here.
local FORGIVEN = {
  "'", -- single quotes
  '[^"%s]%s*:', -- a key without quotes
  ",%s*[%]}]", -- a comma before a closing bracket
  "%.%D", -- a point without a digit after it: 1.
  "%D%.", -- or before it: -.5
  "%f[%d.eE+-]%-?0[%dx]", -- a number that begins with a further zero or is hexadecimal: 01.5 and 0x1e
}

-- Whether text that the transcoder takes for JSON is JSON (RFC 8259). What else is none the transcoder refuses itself.
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
  for _, pattern in ipairs(FORGIVEN) do
    if skeleton:find(pattern) then return false end
  end
  return true
end

-- The methods for which envoy.yaml leaves judge.lua out, so that a GET costs no more. One that has a body all the same
-- is judged here, after the body has been read (64 KiB at the most): after the judgement it couldn't be had.
local EXPECTS_NO_BODY = { GET = true, HEAD = true, DELETE = true }

-- The text of the body, or nil when there is none, which without a length only a look tells. Nil too when the request
-- has been answered: the body is too large, or the caller is refused.
local function read_body(handle)
  local length = handle:headers():get("content-length")
  if length == "0" then return nil end
  if length and tonumber(length) > tables.max_body_bytes then return handle:respond({ [":status"] = "413" }, "") end
  local body = handle:body()
  local bytes = body and body:length() or 0
  if bytes == 0 then return nil end
  if bytes > tables.max_body_bytes then return handle:respond({ [":status"] = "413" }, "") end
  local text = body:getBytes(0, bytes)
  local is_judged = length or not EXPECTS_NO_BODY[handle:headers():get(":method")]
  if not is_judged and not questions.judge(handle) then return nil end
  return text
end

function M.on_request(handle)
  local headers = handle:headers()
  known_keys.on_request(handle, headers)
  local content_type = headers:get("content-type") or ""
  if request.is_grpc(content_type) then return end
  if request.is_connect(headers, content_type) then
    request.keep(handle, { authorization = headers:get("authorization"), is_connect = true })
    return connect.to_grpc(handle, read_body(handle) or "")
  end
  local text = read_body(handle)
  if not text then return end
  headers = handle:headers() -- those from before do not outlive a wait
  content_type = metadata.printable(content_type)
  headers:replace(HEADERS.body_type, content_type)
  local is_right = M.is_json(text)
  request.keep(handle, {
    authorization = headers:get("authorization"),
    content_type = content_type,
    body = is_right and text or nil,
  })
  if not is_right then handle:respond({ [":status"] = "400" }, "") end
end

-- Answers -------------------------------------------------------------------------------------------------------------

-- Takes a header out of a reply.
local function take(headers, name)
  local value = headers:get(name)
  headers:remove(name)
  return value
end

-- The request that Envoy refused, as its reply tells it to this filter alone (local_reply_config in envoy.yaml).
local function take_refused(headers)
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

-- As much of Envoy's words as the server is told: a value that they quote may be as long as a body.
local MAX_REPLY_BYTES = 1000
-- What the fields of a question take besides their values, at the most.
local MAX_TAGS_BYTES = 100

-- The fields of RefuseRequest. The server reads no message that is longer than a body, so a body that makes it one is
-- left out.
local function refuse_fields(refused, status, reply, kept)
  local fields = {
    method = refused.method,
    path = refused.path,
    status = status,
    reply = reply:sub(1, MAX_REPLY_BYTES),
    content_type = kept.content_type,
  }
  if kept.body then
    local others = #fields.method + #fields.path + #fields.reply + #fields.content_type + MAX_TAGS_BYTES
    if #kept.body + others <= tables.max_body_bytes then fields.body = kept.body end
  end
  return fields
end

-- Asks the server what the caller is told. Returns the headers of that, and the body.
local function word_refusal(handle, refused, status, reply)
  local kept = request.kept(handle) or {}
  refused.caller.is_connect = kept.is_connect
  local answer, error
  if status < 500 then
    local fields = refuse_fields(refused, status, reply, kept)
    answer, error = questions.ask(handle, "refuse", fields, refused.caller)
  elseif not tables.open_paths[refused.path:match("^[^?]*")] then -- else there is no caller to judge
    answer, error = questions.ask(handle, "fail", { status = status }, refused.caller)
  end
  return questions.for_caller(answer, error, status, kept.is_connect)
end

-- A reply of Envoy itself, or of this filter.
local function on_refusal(handle)
  local headers = handle:headers()
  local refused = take_refused(headers)
  if take(headers, HEADERS.worded) then return headers:replace("content-type", "application/json") end
  local status = tonumber(headers:get(":status"))
  local body = handle:body(true) -- before any other wait: later it can't be had
  local answer, error = word_refusal(handle, refused, status, body:getBytes(0, body:length()))
  handle:body(true):setBytes(refused.method == "HEAD" and "" or error) -- HEAD has the length of a body, and none
  headers = handle:headers()
  headers:remove("retry-after")
  for name, value in pairs(answer) do
    headers:replace(name, value)
  end
  headers:replace("content-type", "application/json")
  headers:replace("content-length", tostring(#error))
end

-- What the transcoder leaves of the gRPC call on a file.
local function hide_grpc(handle)
  local headers = handle:headers()
  headers:remove("grpc-encoding")
  headers:remove("grpc-accept-encoding")
  local trailers = handle:trailers()
  if not trailers then return end
  trailers:remove("grpc-status")
  trailers:remove("grpc-message")
end

-- envoy.yaml has this run only on the answers that have one of these headers.
function M.on_response(handle)
  local headers = handle:headers()
  if headers:get(HEADERS.refused) then return on_refusal(handle) end
  if take(headers, HEADERS.accepted) then known_keys.on_accepted(handle) end
  local length = take(headers, HEADERS.length)
  if not length then return end
  headers:replace("content-length", length)
  hide_grpc(handle)
end

return M
