-- Asks the gRPC server on behalf of a caller (petstore.edge.v1.EdgeService): about what Envoy decides by itself.

local known_keys = require("known_keys")
local request = require("request")
local tables = require("tables")

local M = {}

-- The clusters of the servers.
local SERVER, SERVER_OF_STRANGERS = "petstore", "petstore_strangers"
-- How long the wording of an error may take.
local WORDING_TIMEOUT_MS = 2000
local CLOCK_SLACK_MS = 100

local function varint(n)
  local bytes = {}
  while n > 127 do
    bytes[#bytes + 1] = string.char(n % 128 + 128)
    n = math.floor(n / 128)
  end
  bytes[#bytes + 1] = string.char(n)
  return table.concat(bytes)
end

-- The wire types of protobuf that are needed.
local VARINT, LENGTH_DELIMITED = 0, 2

local function tag(field_number, wire_type)
  return varint(field_number * 8 + wire_type)
end

-- A protobuf message of texts and of numbers that are not negative. `fields` are the numbers of the fields.
function M.encode(fields, values)
  local parts = {}
  for name, number in pairs(fields) do
    local value = values[name]
    if type(value) == "number" then
      parts[#parts + 1] = tag(number, VARINT) .. varint(value)
    elseif value then
      parts[#parts + 1] = tag(number, LENGTH_DELIMITED) .. varint(#value) .. value
    end
  end
  return table.concat(parts)
end

-- A gRPC message on the wire: not compressed, the length in four bytes, the message.
function M.frame(message)
  local n = #message
  return string.char(0, math.floor(n / 16777216) % 256, math.floor(n / 65536) % 256, math.floor(n / 256) % 256, n % 256)
    .. message
end

-- Puts a question of EdgeService by name. `values` are its fields. `caller` has the headers by which the server judges
-- the caller: authorization, forwarded_for, request_id; and is_connect: the answer is then worded as Connect has it.
-- Returns the headers of the answer, and the body that an error has; nil when the server doesn't answer in time.
function M.ask(handle, name, values, caller, timeout_ms)
  local question = tables.questions[name]
  local headers = {
    [":method"] = "POST",
    [":path"] = question.path,
    [":authority"] = SERVER,
    ["content-type"] = "application/grpc",
    ["te"] = "trailers",
    ["x-envoy-retry-on"] = tables.retries.on,
    ["x-envoy-max-retries"] = tostring(tables.retries.times),
    ["authorization"] = caller.authorization,
    ["x-forwarded-for"] = caller.forwarded_for,
    ["x-request-id"] = caller.request_id,
    [tables.headers.connect] = caller.is_connect and "1" or nil,
  }
  local message = M.frame(M.encode(question.fields, values))
  local cluster = known_keys.is_known(caller.authorization) and SERVER or SERVER_OF_STRANGERS
  local answer, body = handle:httpCall(cluster, headers, message, {
    timeout_ms = timeout_ms or WORDING_TIMEOUT_MS,
    send_xff = false,
  })
  -- Envoy's own word for a server that can't be reached is no JSON, and an error.
  if answer["content-type"] == "application/json" then return answer, body or "" end
  if answer[":status"] == "200" and not answer["grpc-status"] then return answer end
  return nil
end

-- What the caller gets: headers, and the body. Some of the headers are for the access log. Without an error of the
-- server it goes by the status that the request has failed with.
function M.for_caller(answer, error, status, is_connect)
  local errors, names = is_connect and tables.connect or tables, tables.headers
  if not error and status == 504 then
    local headers = { [":status"] = "504", [names.code] = "DEADLINE_EXCEEDED", [names.grpc_status] = "4" }
    return headers, errors.deadline_exceeded
  end
  if not error then
    local headers = { [":status"] = "503", [names.code] = "UNAVAILABLE", [names.grpc_status] = "14" }
    headers["retry-after"] = "1"
    return headers, errors.unavailable
  end
  local headers = { [":status"] = answer[":status"] }
  for name, value in pairs(answer) do
    local is_transport = name:find("^:") or name:find("^grpc%-") or name:find("^content%-") or name:find("^x%-envoy%-")
    if not is_transport and name ~= "date" and name ~= "server" then headers[name] = value end
  end
  return headers, error
end

-- Has the server judge the caller of a request by its headers. Returns whether the caller may go on; if not, the
-- request is answered.
function M.judge(handle)
  local headers = handle:headers()
  local begun_ms = handle:timestamp()
  local is_connect = request.is_connect(headers, headers:get("content-type") or "")
  local answer, error = M.ask(handle, "judge", {}, {
    authorization = headers:get("authorization"),
    forwarded_for = headers:get("x-forwarded-for"),
    request_id = headers:get("x-request-id"),
    is_connect = is_connect,
  }, tables.call_timeout_ms)
  if answer and not error then return true end
  -- The clock counts whole milliseconds, and a timer may be early by one.
  local is_late = handle:timestamp() - begun_ms >= tables.call_timeout_ms - CLOCK_SLACK_MS
  local reply, body = M.for_caller(answer, error, is_late and 504 or 503, is_connect)
  reply[tables.headers.worded] = "1"
  handle:respond(reply, body)
  return false
end

return M
