-- What the gRPC-JSON transcoder leaves undone on the REST side. It contains no rule and no message of the API: the
-- server decides on every error, also on those that Envoy detects. envoy/config/lua.ts defines `settings`: what the
-- filters need to know of the proto files, of the server and of its settings.
--
-- Native gRPC and gRPC-Web pass unchanged. connect.lua converts Connect calls to gRPC.

local bodies = require("bodies")
local connect = require("connect")
local lists = require("lists")
local metadata = require("metadata")
local request = require("request")
local settings = require("settings")

local HEADERS = settings.headers

local M = {}

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

-- Returns the body's text and the body, or nil if there is none. Without a length only reading tells. Also returns nil
-- if it has responded to the request: the body is too large, or too many bodies of this key are waiting.
local function read_body(handle)
  local headers = handle:headers()
  local length, authorization = headers:get("content-length"), headers:get("authorization") or ""
  if length == "0" then return nil end
  if tonumber(length or headers:get(HEADERS.received)) > settings.max_body_bytes then
    return handle:respond({ [":status"] = "413" }, "")
  end
  local period = bodies.begin(authorization, handle:timestamp())
  if not period then return handle:respond({ [":status"] = "425" }, "") end -- the server makes it a 429
  local body = handle:body()
  bodies.finish(period, authorization)
  local bytes = body and body:length() or 0
  if bytes == 0 then return nil end
  if bytes > settings.max_body_bytes then return handle:respond({ [":status"] = "413" }, "") end
  return body:getBytes(0, bytes), body
end

-- matchers.ts skips this for requests without a length whose method expects no body: they go to the server at once.
function M.on_request(handle)
  local headers = handle:headers()
  local content_type = headers:get("content-type") or ""
  if request.is_grpc(content_type) then return end
  if request.is_connect(headers, content_type) then
    request.save(handle, { is_connect = true })
    return connect.to_grpc(handle, read_body(handle) or "")
  end
  local text, body = read_body(handle)
  if not text then return end
  headers = handle:headers() -- Envoy invalidates objects while the script is suspended
  content_type = metadata.printable(content_type)
  headers:replace(HEADERS.body_type, content_type)
  request.save(handle, { content_type = content_type })
  if not M.is_json(text) then return handle:respond({ [":status"] = "400" }, "") end
  local wrong, checked = lists.check(headers:get(":method"), headers:get(":path"), text)
  if wrong then return handle:respond({ [":status"] = "400" }, wrong) end
  if checked ~= text then body:setBytes(checked) end
end

return M
