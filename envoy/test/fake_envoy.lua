-- Envoy's Lua API, as far as the filters use it: the handle of a request or of a response. It is as strict as
-- Envoy 1.40 where scripts often have bugs:
--
-- * Objects of the handle (headers, body, stream info) are invalid after the script was suspended, which it is while it
--   waits for a body or for the response to a call.
-- * A script can't read the body after a call, unless it has read it before.
-- * A response ends the script.
--
-- An error of the script fails the test. Envoy would log it and let the request pass.

local M = {}

-- One request or response passing through the filter.
local Pass = {}
Pass.__index = Pass

-- An object of the handle. Its methods fail after the script was suspended.
local function scoped(pass, methods)
  local created = pass.yields
  return setmetatable({}, {
    __index = function(_, name)
      if pass.yields ~= created then error("object used outside of proper scope: " .. name, 2) end
      return methods[name] or error("Envoy has no " .. name, 2)
    end,
  })
end

local function check_string(value, what)
  if type(value) ~= "string" and type(value) ~= "number" then error(what .. " is a " .. type(value), 3) end
  return tostring(value)
end

-- Headers: a list, since a name may occur several times --------------------------------------------------------------

local function to_list(headers)
  local list = {}
  for name, value in pairs(headers) do
    list[#list + 1] = { name, check_string(value, name) }
  end
  return list
end

local function find_header(list, name)
  local values = {}
  for _, header in ipairs(list) do
    if header[1] == name:lower() then values[#values + 1] = header[2] end
  end
  return #values > 0 and table.concat(values, ",") or nil
end

local function remove_header(list, name)
  for i = #list, 1, -1 do
    if list[i][1] == name:lower() then table.remove(list, i) end
  end
end

local function add_header(list, name, value)
  list[#list + 1] = { check_string(name, "a header's name"):lower(), check_string(value, name) }
end

local function header_map(pass, list)
  return scoped(pass, {
    get = function(_, name)
      return find_header(list, name)
    end,
    add = function(_, name, value)
      add_header(list, name, value)
    end,
    remove = function(_, name)
      remove_header(list, name)
    end,
    replace = function(_, name, value)
      remove_header(list, name)
      add_header(list, name, value)
    end,
  })
end

-- Dynamic metadata, shared by request and response. A string ends at a NUL, as in C ---------------------------------

local function copy(value)
  if type(value) == "string" then return value:match("^[^%z]*") end
  if type(value) ~= "table" then return value end
  local result = {}
  for key, item in pairs(value) do
    result[key] = copy(item)
  end
  return result
end

local function metadata_map(pass)
  return scoped(pass, {
    get = function(_, filter)
      return copy(pass.metadata[filter])
    end,
    set = function(_, filter, key, value)
      pass.metadata[filter] = pass.metadata[filter] or {}
      pass.metadata[filter][key] = copy(value)
    end,
  })
end

local function stream_info(pass)
  return scoped(pass, {
    protocol = function()
      return pass.protocol
    end,
    downstreamRemoteAddress = function()
      return pass.address
    end,
    dynamicMetadata = function()
      return metadata_map(pass)
    end,
  })
end

-- Bodies --------------------------------------------------------------------------------------------------------------

local function buffer(pass)
  return scoped(pass, {
    length = function()
      return #pass.body
    end,
    getBytes = function(_, from, length)
      assert(from >= 0 and length >= 0 and from + length <= #pass.body, "getBytes beyond the body")
      return pass.body:sub(from + 1, from + length)
    end,
    setBytes = function(_, text)
      pass.body = check_string(text, "a body")
      remove_header(pass.header_list, "content-length")
      add_header(pass.header_list, "content-length", #text)
    end,
  })
end

-- The handle ----------------------------------------------------------------------------------------------------------

function Pass:yield(reason)
  self.yields = self.yields + 1
  return coroutine.yield(reason)
end

local Handle = {}
Handle.__index = Handle

function Handle:headers()
  return header_map(self.pass, self.pass.header_list)
end

function Handle:streamInfo()
  return stream_info(self.pass)
end

function Handle:timestamp()
  return self.pass.now_ms
end

function Handle.base64Escape(_, text)
  return "base64(" .. check_string(text, "a text") .. ")"
end

function Handle:clearRouteCache()
  self.pass.is_route_cleared, self.pass.is_route_found = true, false
end

-- Metadata of the route: Envoy selects the route for it.
function Handle:metadata()
  self.pass.is_route_found = true
end

function Handle:body(always_wrap)
  local pass = self.pass
  if pass.is_body_streamed then error("cannot call body() after body has been streamed", 2) end
  if pass.is_body_ahead then
    pass.is_body_ahead = false
    pass:yield("body")
  end
  if not pass.body and not always_wrap then return nil end
  pass.body = pass.body or ""
  return buffer(pass)
end

-- Trailers come after the body, so the script is suspended until they are there.
function Handle:trailers()
  local pass = self.pass
  pass:yield("body")
  return pass.trailer_list and header_map(pass, pass.trailer_list)
end

function Handle:httpCall(cluster, headers, message, options)
  local pass = self.pass
  for _, name in ipairs({ ":method", ":path", ":authority" }) do
    if not headers[name] then error("http call headers must include " .. name, 2) end
  end
  for name, value in pairs(headers) do
    check_string(value, name)
  end
  pass.calls[#pass.calls + 1] = { cluster = cluster, headers = headers, message = message, options = options }
  if pass.is_body_ahead then
    pass.is_body_ahead, pass.is_body_streamed = false, true
  end
  return pass:yield("response")
end

function Handle:respond(headers, text)
  if self.pass.is_response then error("respond not currently supported in the response path", 2) end
  local status = tonumber(headers[":status"])
  if not status or status < 200 or status > 599 then error(":status must be between 200-599", 2) end
  for name, value in pairs(headers) do
    check_string(value, name)
  end
  self.pass.reply = { headers = headers, body = text }
  return self.pass:yield("end")
end

-- Running a filter ----------------------------------------------------------------------------------------------------

-- Runs the script to its end, or to a call whose response the test gives.
function Pass:resume(...)
  local is_fine, reason = coroutine.resume(self.thread, ...)
  if not is_fine then error(debug.traceback(self.thread, reason), 0) end
  if reason == "body" and self.is_body_late then return self end
  if reason == "body" then return self:resume() end
  if reason == "response" and self.server then return self:respond(self.server(self.calls[#self.calls], self)) end
  return self
end

-- Gives the response to the last call, for a test without a `server`. Envoy gives nil for an empty body.
function Pass:respond(headers, body)
  for name, value in pairs(headers) do
    check_string(value, name)
  end
  return self:resume(headers, body and check_string(body, "a body"):match("^.+$"))
end

function Pass:header(name)
  return find_header(self.header_list, name)
end
function Pass:trailer(name)
  return find_header(self.trailer_list, name)
end

local function run(script, message, is_response)
  local pass = setmetatable({
    header_list = to_list(message.headers or {}),
    body = message.body,
    is_body_ahead = message.body ~= nil,
    is_body_late = message.is_body_late,
    protocol = message.protocol or "HTTP/1.1",
    metadata = message.metadata or {},
    server = message.server,
    address = message.address or "10.0.0.1:50000",
    is_response = is_response,
    now_ms = message.now_ms or 1000,
    yields = 0,
    calls = {},
    trailer_list = message.trailers and to_list(message.trailers),
  }, Pass)
  pass.thread = coroutine.create(script)
  return pass:resume(setmetatable({ pass = pass }, Handle))
end

-- Sends a request through a filter. `message` has headers, body (nil: the request ends with its headers), protocol,
-- address, now_ms, is_body_late (the test resumes the script when the body is there), and server, a function that
-- returns the headers and the body of the response to a call. What is returned has reply, calls, body, metadata,
-- header(name).
function M.request(script, message)
  return run(script, message, false)
end

-- The same for a response, which may also have trailers. `metadata` of `message` is the request's.
function M.response(script, message)
  return run(script, message, true)
end

return M
