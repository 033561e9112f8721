-- What the gRPC-JSON transcoder leaves undone on the REST side. It contains no rule and no message of the API: the
-- server decides on every error, also on those that Envoy detects (responses.lua). envoy/config/lua.ts defines
-- `settings`: what the filters need to know of the proto files, of the server and of its settings.

local caller = require("caller")
local json = require("json")
local reading = require("reading")
local settings = require("settings")

local HEADERS = settings.headers

local M = {}

local HAS_VERBS = next(settings.verbs) ~= nil

-- Removes slashes behind a verb, as in `/things/7:close/`: the transcoder knows one only at the very end of a path.
local function bare_verb(headers)
  local path = headers:get(":path")
  if not path:find(":", 1, true) then return end
  local name, query = path:match("^([^?]*)(.*)$")
  local bare, verb = name:match("^(.*(:[%w_-]+))/+$")
  if settings.verbs[verb] then headers:replace(":path", bare .. query) end
end

-- Checks the body, which is complete.
function M.on_request(handle)
  if HAS_VERBS then bare_verb(handle:headers()) end
  local body = handle:body()
  local length = body and body:length() or 0
  if length == 0 then return end
  -- What needs no key has no body. To read one would cost ten times what refusing a caller costs.
  local metadata = handle:streamInfo():dynamicMetadata()
  if metadata:get(caller.KEYLESS) then return body:setBytes("") end
  if length > settings.max_body_bytes then return handle:respond({ [":status"] = "413" }, "") end
  local headers, text = handle:headers(), body:getBytes(0, length)
  local coding = caller.content_coding(headers)
  if coding then return handle:respond({ [":status"] = "415" }, coding) end
  -- The server would not see a value with a byte that gRPC's metadata can't have. Envoy leaves out an empty header, so
  -- "=" stands before it.
  local content_type = (headers:get("content-type") or ""):gsub("%s", " "):gsub("[^ -~]", "?")
  headers:replace(HEADERS.body_type, "=" .. content_type)
  -- All whose account is not known count as one.
  local saved = length >= reading.COUNTED_BYTES and (metadata:get(caller.BODY) or { account = "" })
  if saved and not reading.may_read(saved.account, handle:timestamp()) then
    local reply = settings.replies.unavailable.rest
    return handle:respond(reply.headers, reply.body)
  end
  -- The CPU time of all threads: on a busy machine a body counts no more, beside another busy thread twice at most.
  local began_s = os.clock()
  local found, checked = json.read(headers:get(":method"), headers:get(":path"), text)
  if saved then reading.spend(saved.account, (os.clock() - began_s) * 1000) end
  if found then
    local finding = ("%d %s"):format(found.finding, found.at)
    return handle:respond({ [":status"] = "400", [HEADERS.refused_finding] = finding }, found.value)
  end
  if checked == text then return end
  handle:clearRouteCache()
  handle:metadata() -- selects the new route now: the old route's buffer has no room for more than 64 KiB
  body:setBytes(checked)
end

return M
