-- What the gRPC-JSON transcoder leaves undone on the REST side. It never invents a message or a rule: what is an error,
-- and what it says, the gRPC server decides, for requests that Envoy refuses itself too. What it must know of the proto
-- files and of the server stands in gen/edge/tables.lua.
--
-- Native gRPC and gRPC-Web pass untouched. Of calls of the Connect protocol connect.lua makes gRPC.

local connect = require("connect")
local known_keys = require("known_keys")
local questions = require("questions")
local request = require("request")
local tables = require("tables")

local HEADERS, OPERATIONS = tables.headers, tables.operations

local M = {}

-- Requests ------------------------------------------------------------------------------------------------------------

-- What the transcoder forgives outside of strings, which are empty here.
local FORGIVEN = {
  "'", -- single quotes
  '[^"%s]%s*:', -- a key without quotes
  ",%s*[%]}]", -- a comma before a closing bracket
  "%.%D", "%D%.", -- a point without a digit before or after it: 1. and -.5
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
  if not body or body:length() == 0 then return nil end
  if body:length() > tables.max_body_bytes then return handle:respond({ [":status"] = "413" }, "") end
  local text = body:getBytes(0, body:length())
  local is_judged = length or not EXPECTS_NO_BODY[handle:headers():get(":method")]
  if not is_judged and not questions.judge(handle) then return nil end
  return text
end

-- The value of a header so that it can be gRPC metadata: with any other byte the server would see none.
local function printable(value)
  return (value:gsub("\t", " "):gsub("[^ -~]", "?"))
end

-- Headers that are lists, however many lines they have. The server would see the first line.
local LISTS = { "if-match", "if-none-match" }

local function join_lists(headers)
  for i = 1, #LISTS do
    local value = headers:get(LISTS[i])
    if value then headers:replace(LISTS[i], printable(value)) end
  end
end

local IDEMPOTENCY_KEY = "idempotency-key"

-- The server sees no metadata with such bytes, and would do again what is to be done once: it is told of a key that is
-- none, which it refuses.
local function check_idempotency_key(headers)
  local key = headers:get(IDEMPOTENCY_KEY)
  if not key or not key:find("[^ -~]") then return end
  headers:remove(IDEMPOTENCY_KEY)
  headers:add(IDEMPOTENCY_KEY, ",")
end

function M.on_request(handle)
  local headers = handle:headers()
  check_idempotency_key(headers)
  known_keys.on_request(handle, headers)
  join_lists(headers)
  local content_type = headers:get("content-type") or ""
  if request.is_grpc(content_type) then return end
  if not headers:get(":path") then return handle:respond({ [":status"] = "404" }, "") end -- CONNECT
  if request.is_connect(headers, content_type) then
    request.keep(handle, { authorization = headers:get("authorization"), is_connect = true })
    return connect.to_grpc(handle, read_body(handle) or "")
  end
  local text = read_body(handle)
  if not text then return end
  headers = handle:headers() -- those from before do not outlive a wait
  content_type = printable(content_type)
  headers:replace(HEADERS.body_type, content_type)
  local is_right = M.is_json(text)
  request.keep(handle, {
    authorization = headers:get("authorization"), content_type = content_type, body = is_right and text or nil,
  })
  if not is_right then handle:respond({ [":status"] = "400" }, "") end
end

-- Answers -------------------------------------------------------------------------------------------------------------

-- The answer to HEAD has no body, but the length of one.
local function set_body(handle, is_head, text)
  handle:body(true):setBytes(is_head and "" or text)
  handle:headers():replace("content-length", tostring(#text))
end

local function set_error(handle, is_head, error)
  set_body(handle, is_head, error)
  local headers = handle:headers()
  headers:replace(":status", questions.status_of(error))
  headers:replace("content-type", "application/json")
end

-- Takes a header out of a reply.
local function take(headers, name)
  local value = headers:get(name)
  headers:remove(name)
  return value
end

-- The request that Envoy refused, as its reply tells it to this filter alone (local_reply_config in envoy.yaml).
local function take_refused(headers)
  return {
    method = take(headers, HEADERS.refused), path = take(headers, HEADERS.refused .. "-path") or "",
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
    method = refused.method, path = refused.path, status = status, reply = reply:sub(1, MAX_REPLY_BYTES),
    content_type = kept.content_type,
  }
  if kept.body then
    local others = #fields.method + #fields.path + #fields.reply + #fields.content_type + MAX_TAGS_BYTES
    if #kept.body + others <= tables.max_body_bytes then fields.body = kept.body end
  end
  return fields
end

-- Asks the server what the caller is told, and puts that on the reply. Returns the error.
local function word_refusal(handle, refused)
  local kept = request.kept(handle) or {}
  refused.caller.is_connect = kept.is_connect
  local status = tonumber(handle:headers():get(":status"))
  local body = handle:body(true) -- before any other wait: later it can't be had
  local answer
  if status >= 500 then
    local is_open = tables.open_paths[refused.path:match("^[^?]*")] -- there is no caller to judge
    answer = not is_open and questions.ask(handle, "fail", { status = status }, refused.caller) or nil
  else
    local fields = refuse_fields(refused, status, body:getBytes(0, body:length()), kept)
    answer = questions.ask(handle, "refuse", fields, refused.caller)
  end
  local headers = handle:headers()
  headers:remove("retry-after")
  for name, value in pairs(questions.for_caller(answer, status, kept.is_connect)) do headers:replace(name, value) end
  return headers:get(HEADERS.error)
end

-- A reply of Envoy itself.
local function on_refusal(handle)
  local headers = handle:headers()
  local refused = take_refused(headers)
  local error = headers:get(HEADERS.error) or word_refusal(handle, refused) -- a refusal by Judge is worded already
  set_error(handle, refused.method == "HEAD", error)
end

-- Over HTTP/2 the transcoder leaves the end of the gRPC call behind the answer.
local function drop_trailers(handle)
  local trailers = handle:trailers()
  if not trailers then return end
  trailers:remove("grpc-status")
  trailers:remove("grpc-message")
end

-- Makes numbers of the fields that the transcoder prints as strings. Inside a string a quote is escaped, so the
-- beginning of such a field can't be hit there. (`gsub` would take three times as long: LuaJIT does not compile it.)
local function with_numbers(text, beginnings)
  for _, beginning in ipairs(beginnings) do
    local parts, count, position = {}, 0, 1
    local first, last = text:find(beginning, 1, true)
    while first do
      local quote = text:find('"', last + 1, true)
      parts[count + 1], parts[count + 2] = text:sub(position, last - 1), text:sub(last + 1, quote - 1)
      count, position = count + 2, quote + 1
      first, last = text:find(beginning, position, true)
    end
    if count > 0 then text = table.concat(parts) .. text:sub(position) end
  end
  return text
end

-- What follows the array in the answer of a list: its page token is a link by now, and 80 bytes at the most.
local PAGE_TOKEN, PAGE_TOKEN_BYTES = ',"nextPageToken":"', 80

-- A list is a bare array.
local function bare_array(text, name)
  return text:sub(#name + 5, text:find(PAGE_TOKEN, -PAGE_TOKEN_BYTES, true) - 1)
end

local function on_success(handle, method, operation)
  local shape = OPERATIONS[operation]
  local headers = handle:headers()
  if not shape then -- no JSON
    local length = headers:get(HEADERS.length)
    if length then headers:replace("content-length", length) end
    return drop_trailers(handle)
  end
  local status = headers:get(HEADERS.not_modified) and "304" or shape.status
  if status ~= "200" then headers:replace(":status", status) end
  local body = handle:body(true)
  if status == "204" or status == "304" then
    body:setBytes("")
    headers = handle:headers()
    headers:remove("content-type")
    headers:remove("content-length")
  else
    local text = with_numbers(body:getBytes(0, body:length()), shape.int64)
    set_body(handle, method == "HEAD", shape.list and bare_array(text, shape.list) or text)
  end
  drop_trailers(handle)
end

local function on_connect_success(handle)
  local body = handle:body(true)
  local message = connect.message_of(body:getBytes(0, body:length()))
  if not message then return set_error(handle, false, tables.connect.unavailable) end
  set_body(handle, false, message)
  handle:headers():replace("content-type", connect.PROTO)
  drop_trailers(handle)
end

function M.on_response(handle)
  local headers = handle:headers()
  if headers:get(HEADERS.refused) then return on_refusal(handle) end
  known_keys.on_response(handle, headers)
  local call = headers:get(HEADERS.request) -- the method and the operation, if it is REST or Connect
  if not call then return end
  local method, operation = call:match("^(%S+) (%S+)")
  local error = headers:get(HEADERS.error)
  if error then return set_error(handle, method == "HEAD", error) end
  if method == connect.METHOD then return on_connect_success(handle) end
  on_success(handle, method, operation)
end

return M
