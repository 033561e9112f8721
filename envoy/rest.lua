-- What the gRPC-JSON transcoder leaves undone on the REST side. It contains no rule and no message of the API: the
-- server decides on every error, also on those that Envoy detects. envoy/config/lua.ts defines `settings`: what the
-- filters need to know of the proto files, of the server and of its settings.

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

-- Checks the body, which is complete. matchers.ts skips this for requests without one.
function M.on_request(handle)
  local body = handle:body()
  local length = body and body:length() or 0
  if length == 0 then return end
  if length > settings.max_body_bytes then return handle:respond({ [":status"] = "413" }, "") end
  local headers, text = handle:headers(), body:getBytes(0, length)
  local content_type = metadata.printable(headers:get("content-type") or "")
  headers:replace(HEADERS.body_type, content_type)
  request.save_content_type(handle, content_type)
  if not M.is_json(text) then return handle:respond({ [":status"] = "400" }, "") end
  local method = headers:get(":method")
  if not settings.body_methods[method] then return body:setBytes("") end -- the transcoder would read fields from it
  local wrong, checked = lists.check(method, headers:get(":path"), text)
  if wrong then return handle:respond({ [":status"] = "400" }, wrong) end
  if checked ~= text then body:setBytes(checked) end
end

return M
