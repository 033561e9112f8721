-- What the gRPC-JSON transcoder leaves undone on the REST side. It shapes answers; it never invents a message or a
-- rule: what is an error, and what it says, the gRPC server decides, for requests that Envoy refuses itself too.
--
-- Native gRPC and gRPC-Web pass untouched.

local FILTER = "petstore.rest"
local SERVER = "petstore"
local EDGE = "/petstore.edge.v1.EdgeService/"
local EDGE_TIMEOUT_MS = 2000

-- Carries the REST body of an error from the server; see src/grpc/status.ts.
local ERROR_HEADER = "x-petstore-error"
-- How long a body the server is told of when it can't be read.
local MAX_REPEATED_BYTES = 65536
-- Tells the server that a request has a body and what type it says it is; see src/edge/rest-request.ts.
local BODY_TYPE_HEADER = "x-petstore-body-type"

-- Headers of gRPC, or of the call to the server, that mean nothing to a REST caller.
local GRPC_HEADERS = {
  "grpc-status", "grpc-message", "grpc-status-details-bin", "grpc-accept-encoding", "grpc-encoding",
  "grpc-retry-pushback-ms",
}

-- The request, kept for the way back --------------------------------------------------------------------------------

-- The content types of gRPC-Web, as Envoy's filter knows them.
local GRPC_WEB = {
  ["application/grpc-web"] = true, ["application/grpc-web+proto"] = true,
  ["application/grpc-web-text"] = true, ["application/grpc-web-text+proto"] = true,
}

local function is_grpc(content_type)
  return content_type == "application/grpc" or content_type:find("^application/grpc%+") or GRPC_WEB[content_type]
end

-- The text of the body, or nil when there is none. Without a length only a look tells.
local function read_body(handle, headers)
  if headers:get("content-length") == "0" then return nil end
  local body = handle:body()
  return body and body:length() > 0 and body:getBytes(0, body:length()) or nil
end

-- Whether text that the transcoder takes for JSON is JSON (RFC 8259). It forgives control characters and unknown
-- escapes in strings, single quotes, keys without quotes, commas before a closing bracket, and "1.".
local function is_json(text)
  if text:find("[%z\1-\8\11\12\14-\31]") then return false end
  local plain = text
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
  return not (skeleton:find("'", 1, true) or skeleton:find('[^"%s]%s*:') or skeleton:find(",%s*[%]}]")
    or skeleton:find("%.%D"))
end

function envoy_on_request(handle)
  local headers = handle:headers()
  local content_type = headers:get("content-type") or ""
  if is_grpc(content_type) then return end
  headers:remove("grpc-timeout") -- how long a REST request may take is not the caller's to say
  -- Header values have no line breaks, so one string holds them all, in one call.
  local saved = table.concat({
    headers:get(":method"), headers:get(":path") or "", headers:get("authorization") or "",
    headers:get("x-forwarded-for") or "", headers:get("x-request-id") or "",
  }, "\n")
  handle:streamInfo():dynamicMetadata():set(FILTER, "request", saved)
  if not headers:get(":path") then return handle:respond({ [":status"] = "404" }, "") end -- CONNECT
  local body = read_body(handle, headers)
  if not body then return end
  handle:headers():add(BODY_TYPE_HEADER, content_type)
  local is_right = is_json(body)
  local repeated = is_right and #body <= MAX_REPEATED_BYTES and body or ""
  handle:streamInfo():dynamicMetadata():set(FILTER, "body", content_type .. "\n" .. repeated)
  if not is_right then handle:respond({ [":status"] = "400" }, "") end
end

local function saved_request(handle)
  local metadata = handle:streamInfo():dynamicMetadata():get(FILTER)
  if not metadata then return nil end
  local method, path, authorization, forwarded_for, request_id =
    metadata.request:match("^([^\n]*)\n([^\n]*)\n([^\n]*)\n([^\n]*)\n([^\n]*)$")
  local body_type, body = (metadata.body or ""):match("^([^\n]*)\n(.*)$")
  return {
    method = method, path = path, authorization = authorization, forwarded_for = forwarded_for,
    request_id = request_id, body_type = body_type, body = body ~= "" and body or nil,
  }
end

-- Refusals ----------------------------------------------------------------------------------------------------------

local function varint(n)
  local bytes = {}
  while n > 127 do
    bytes[#bytes + 1] = string.char(n % 128 + 128)
    n = math.floor(n / 128)
  end
  bytes[#bytes + 1] = string.char(n)
  return table.concat(bytes)
end

local function string_field(number, text)
  return string.char(number * 8 + 2) .. varint(#text) .. text
end

local function grpc_frame(message)
  local n = #message
  return string.char(0, math.floor(n / 16777216) % 256, math.floor(n / 65536) % 256, math.floor(n / 256) % 256, n % 256)
    .. message
end

-- The method to ask, and its message: Refuse for what Envoy refused itself, Fail for what may have reached the server.
local function edge_call(request, status, reply)
  if tonumber(status) >= 500 then return "Fail", string.char(1 * 8) .. varint(tonumber(status)) end
  local message = string_field(1, request.method) .. string_field(2, request.path)
    .. string.char(3 * 8) .. varint(tonumber(status)) .. string_field(4, reply)
  if request.body_type then message = message .. string_field(5, request.body_type) end
  if request.body then message = message .. string_field(6, request.body) end
  return "Refuse", message
end

-- Asks the server what the caller of a request that failed in Envoy is told. Nil when it doesn't answer.
local function ask_server(handle, request, status, reply)
  local method, message = edge_call(request, status, reply)
  local headers = {
    [":method"] = "POST", [":path"] = EDGE .. method, [":authority"] = SERVER,
    ["content-type"] = "application/grpc", ["te"] = "trailers",
    -- As on the routes of envoy.yaml: what no server has begun is sent to another.
    ["x-envoy-retry-on"] = "connect-failure,refused-stream,reset-before-request", ["x-envoy-max-retries"] = "2",
  }
  if request.authorization ~= "" then headers["authorization"] = request.authorization end
  if request.forwarded_for ~= "" then headers["x-forwarded-for"] = request.forwarded_for end
  if request.request_id ~= "" then headers["x-request-id"] = request.request_id end
  local answer = handle:httpCall(SERVER, headers, grpc_frame(message), { timeout_ms = EDGE_TIMEOUT_MS, send_xff = false })
  return answer[ERROR_HEADER] and answer or nil
end

-- Puts the server's headers on Envoy's own reply.
local function copy_headers(answer, headers)
  for name, value in pairs(answer) do
    local is_transport = name:find("^:") or name:find("^grpc%-") or name:find("^content%-") or name:find("^x%-envoy%-")
    if not is_transport and name ~= "date" and name ~= "server" and name ~= ERROR_HEADER then
      headers:replace(name, value)
    end
  end
end

-- Answers -----------------------------------------------------------------------------------------------------------

local function set_body(handle, request, text)
  local is_head = request.method == "HEAD"
  handle:body(true):setBytes(is_head and "" or text)
  handle:headers():replace("content-length", tostring(#text))
end

local function on_error(handle, request, status)
  local error = handle:headers():get(ERROR_HEADER)
  if not error then
    local body = handle:body(true)
    local reply = body:getBytes(0, body:length())
    local answer = ask_server(handle, request, status, reply)
    if answer then
      handle:headers():remove("retry-after")
      copy_headers(answer, handle:headers())
    end
    -- Without an answer it is what envoy.yaml says, less the detail, which is for the server alone to tell.
    error = answer and answer[ERROR_HEADER] or reply:gsub(',"detail":".*",("message":)', ",%1")
  end
  set_body(handle, request, error)
  local headers = handle:headers()
  headers:replace(":status", error:match('"status":(%d+)}') or status)
  headers:replace("content-type", "application/json")
  headers:remove(ERROR_HEADER)
end

-- The address of the page after this one: the request's own, with another page token (RFC 8288).
local function next_link(path, token)
  local base, query = path:match("^([^?]*)%??(.*)$")
  local kept = {}
  for parameter in query:gmatch("[^&]+") do
    if not parameter:find("^pageToken=") then kept[#kept + 1] = parameter end
  end
  kept[#kept + 1] = "pageToken=" .. token
  return "<" .. base .. "?" .. table.concat(kept, "&") .. '>; rel="next"'
end

local function on_success(handle, request)
  local body = handle:body(true)
  local text = body:getBytes(0, body:length())
  local headers = handle:headers()
  if request.method == "DELETE" then
    body:setBytes("")
    headers:replace(":status", "204")
    headers:remove("content-type")
    headers:remove("content-length")
    return
  end
  -- int64 as numbers. Inside a JSON string a quote is escaped, so this can't hit a value.
  text = text:gsub('([iI]d)":"(%-?%d+)"', '%1":%2')
  if request.method == "POST" then
    headers:replace(":status", "201")
    headers:add("location", request.path:match("^[^?]*"):gsub("/+$", "") .. "/" .. text:match('^{"id":(%d+)'))
  end
  -- A list is a bare array; its page token becomes a link.
  local array, token = text:match('^{"%a+":(%[.*%]),"nextPageToken":"([%w_-]*)"}$')
  if array then
    text = array
    if token ~= "" then headers:add("link", next_link(request.path, token)) end
  end
  set_body(handle, request, text)
end

function envoy_on_response(handle)
  local request = saved_request(handle)
  if not request then return end
  local headers = handle:headers()
  for _, name in ipairs(GRPC_HEADERS) do headers:remove(name) end
  local status = headers:get(":status")
  if tonumber(status) >= 400 then on_error(handle, request, status) else on_success(handle, request) end
end
