-- What a filter sees of Envoy: the handle of a request or of an answer. No more than the filters use, but as strict as
-- Envoy 1.40 where a script goes wrong easily:
--
-- * What the handle gave (headers, body, stream info) does not outlive a wait, for a body or for an answer.
-- * A body that was not asked for before the wait for an answer can't be had after it.
-- * A reply ends the script.
--
-- An error of the script fails the test. Envoy would log it and let the request pass.

local M = {}

-- Of one request or answer on its way through the filter.
local Pass = {}
Pass.__index = Pass

-- An object of the handle. Its methods fail after the next wait.
local function mortal(pass, methods)
  local born = pass.waits
  return setmetatable({}, {
    __index = function(_, name)
      if pass.waits ~= born then error("object used outside of proper scope: " .. name, 2) end
      return methods[name] or error("Envoy has no " .. name, 2)
    end,
  })
end

local function check_string(value, what)
  if type(value) ~= "string" and type(value) ~= "number" then error(what .. " is a " .. type(value), 3) end
  return tostring(value)
end

-- Headers are a list, since a name may come more than once. ----------------------------------------------------------

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
  return mortal(pass, {
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

-- Dynamic metadata, of a request and its answer together. A text ends at a NUL, as in C. -----------------------------

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
  return mortal(pass, {
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
  return mortal(pass, {
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
  return mortal(pass, {
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

function Pass:wait(reason)
  self.waits = self.waits + 1
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

function Handle:clearRouteCache()
  self.pass.is_route_cleared, self.pass.is_route_found = true, false
end

-- The route's, which has to be found for it.
function Handle:metadata()
  self.pass.is_route_found = true
end

function Handle:body(always_wrap)
  local pass = self.pass
  if pass.is_body_streamed then error("cannot call body() after body has been streamed", 2) end
  if pass.is_body_ahead then
    pass.is_body_ahead = false
    pass:wait("body")
  end
  if not pass.body and not always_wrap then return nil end
  pass.body = pass.body or ""
  return buffer(pass)
end

-- They come after the body: who asks for them waits.
function Handle:trailers()
  local pass = self.pass
  pass:wait("body")
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
  return pass:wait("answer")
end

function Handle:respond(headers, text)
  if self.pass.is_answer then error("respond not currently supported in the response path", 2) end
  local status = tonumber(headers[":status"])
  if not status or status < 200 or status > 599 then error(":status must be between 200-599", 2) end
  for name, value in pairs(headers) do
    check_string(value, name)
  end
  self.pass.reply = { headers = headers, body = text }
  return self.pass:wait("end")
end

-- Running a filter ----------------------------------------------------------------------------------------------------

-- Goes on until the script ends, or waits for an answer that only the test can give.
function Pass:resume(...)
  local is_fine, reason = coroutine.resume(self.thread, ...)
  if not is_fine then error(debug.traceback(self.thread, reason), 0) end
  if reason == "body" then return self:resume() end
  if reason == "answer" and self.server then return self:answer(self.server(self.calls[#self.calls], self)) end
  return self
end

-- Gives the answer to the last call: what a test does that has no `server`. Envoy gives no body for an empty one.
function Pass:answer(headers, body)
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

local function run(script, message, is_answer)
  local pass = setmetatable({
    header_list = to_list(message.headers or {}),
    body = message.body,
    is_body_ahead = message.body ~= nil,
    protocol = message.protocol or "HTTP/1.1",
    metadata = message.metadata or {},
    server = message.server,
    address = message.address or "10.0.0.1:50000",
    is_answer = is_answer,
    now_ms = message.now_ms or 1000,
    waits = 0,
    calls = {},
    trailer_list = message.trailers and to_list(message.trailers),
  }, Pass)
  pass.thread = coroutine.create(script)
  return pass:resume(setmetatable({ pass = pass }, Handle))
end

-- Sends a request through a filter. `message` has headers, body (nil: the request ends with its headers), protocol,
-- address, now_ms, and server, a function that answers a call with headers, and with a body if it has one. What is
-- returned has reply, calls, body, metadata, header(name).
function M.request(script, message)
  return run(script, message, false)
end

-- The same for an answer, which may have trailers too. `metadata` of `message` is the request's.
function M.answer(script, message)
  return run(script, message, true)
end

return M
