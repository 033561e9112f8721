-- Decides by a request's headers who may use Envoy's memory and the server's time, before anything of the request is
-- awaited:
--
-- * A request with a known key passes, but for the one that has the server check the key again (keys.lua), and unless
--   the server has just refused the key for its limits, a ban or its address. Then the server judges the request by its
--   headers, so that none of its body is read in vain, in the slots of anonymous callers, and no more of its account's
--   than an address may send without a known key. A key that the server calls not valid is known no more.
-- * Any other request must be within the allowance of its address (allowance.lua). Without a key of the right format
--   it has another allowance than with one: so a neighbour's noise locks out no valid key.
-- * Then the server judges the caller by the headers. Calls of the kind gRPC (envoy/config/kinds.ts) go on at once, to
--   the slots of anonymous callers: the server judges them by their headers too.
-- * A key that may only read is refused here to change anything, in the server's words (responses.lua). Of gRPC the
--   server does it.
-- * Health checks, reflection and files need no key. They have an allowance of their own.
--
-- This only protects Envoy and the server's time: the server checks each request itself.

local allowance = require("allowance")
local connect = require("connect")
local edge_service = require("edge_service")
local keys = require("keys")
local reading = require("reading")
local settings = require("settings")

local HEADERS = settings.headers

local M = {}

-- How many bursts an address may have with a key about which the server is being asked.
local SAME_KEY_BURSTS = 20

-- In the stream's dynamic metadata: an anonymous caller's key, until the response.
local NAMESPACE = "edge.key"

-- There too, of a request that needs no key. The route's own metadata can be asked for only once (rest.lua).
M.KEYLESS = "edge.keyless"
-- There too: the account of a request that may have a body which is counted (reading.lua).
M.BODY = "edge.body"
-- There too, of a request whose body has too many frames: its status, and what the reply says.
M.FRAMES = "edge.frames"

-- The path without its query; nil for CONNECT, which has none.
local function path_of(headers)
  return (headers:get(":path") or ""):match("^[^?]+")
end

-- Refuses a request beyond the allowance. `errors` is the shape of the response.
local function refuse(handle, errors)
  local reply = settings.flood[errors]
  reply.headers["x-ratelimit-reset"] = tostring(math.floor(handle:timestamp() / 1000) + 1)
  handle:respond(reply.headers, reply.body)
end

-- Whether a caller whose key is not known has some of his allowance left. When many callers begin at once with one key,
-- most come before the server has judged it.
local function is_allowed(headers, spelling, now_ms)
  local address, is_key = headers:get("x-forwarded-for"), keys.is_well_formed(spelling)
  if allowance.spend(is_key and "key " or "none ", address, now_ms) then
    if is_key then keys.ask(spelling, now_ms) end
    return true
  end
  return is_key and keys.is_asked(spelling, now_ms) and allowance.spend("same key ", address, now_ms, SAME_KEY_BURSTS)
end

-- Judges the caller, or leaves that to the server. Returns true if it has asked the server, which suspends the script.
-- Does not return if the caller is refused.
local function check(handle, headers, judge, errors)
  local now_ms = handle:timestamp()
  if judge == "nobody" then
    local requests = settings.dear_files[path_of(headers)]
    if not allowance.spend("open ", headers:get("x-forwarded-for"), now_ms, 1, requests) then refuse(handle, errors) end
    handle:streamInfo():dynamicMetadata():set(M.KEYLESS, "judge", judge)
    return
  end
  local spelling = headers:get("authorization")
  local is_known, must_renew = keys.is_known(spelling, now_ms)
  if not is_known then
    spelling = keys.normalize(spelling)
    if spelling then headers:replace("authorization", spelling) end
    is_known, must_renew = keys.is_known(spelling, now_ms)
  end
  local is_refused = keys.is_refused(spelling, now_ms)
  if is_known and not must_renew and not is_refused then return end
  if is_refused then -- all whose account is not known count as one
    if not allowance.spend("refused ", keys.account_of(spelling) or "", now_ms) then refuse(handle, errors) end
  elseif not is_known and not is_allowed(headers, spelling, now_ms) then
    refuse(handle, errors)
  end
  if judge == "server" then
    headers:replace(HEADERS.anonymous, "1")
    handle:clearRouteCache()
    if spelling then handle:streamInfo():dynamicMetadata():set(NAMESPACE, "authorization", spelling) end
    return
  end
  local reply, body = edge_service.judge(handle, errors)
  if reply then handle:respond(reply, body) end
  handle:headers():replace(HEADERS.anonymous, "1") -- for the route with the larger buffer, not for slots
  handle:clearRouteCache()
  return true
end

-- Whether a request of REST or Connect changes nothing: all that a key with the permission `read` may send.
local function is_read(headers, errors)
  if errors == "rest" then return settings.reads[headers:get(":method")] end
  return settings.reads[path_of(headers)]
end

-- Removes parameters and capitals, with which Envoy's filters would not know a media type (RFC 9110, section 8.3.1). A
-- refused request may name 23 KB in 20 bytes (HPACK), which would take 0.6 ms to search.
local function make_plain(headers, name)
  local sent = headers:get(name) or ""
  local start = sent:sub(1, settings.max_type)
  local plain = (start:match("^([^;%s]*)%s*;") or start:match("^([^;%s]*)%s*$") or start):lower()
  if plain ~= sent then headers:replace(name, plain) end
  return plain
end

-- The first coding of the body, if it has one (RFC 9110, section 8.4).
function M.content_coding(headers)
  for coding in (headers:get("content-encoding") or ""):gmatch("[^,%s]+") do
    if coding:lower() ~= "identity" then return (coding:gsub("[^ -~]", "?")) end
  end
end

-- The largest length of which the frames are not counted: to count them costs each request 10 to 20 µs, and so many
-- frames of one byte cost a millisecond at most.
local UNCOUNTED_BYTES = 512

-- Has a body of too many frames refused: makes one so large that the next filter, which collects them, refuses it. What
-- the filters after that would find in the headers comes first.
local function bound_frames(handle, errors)
  local count = 0
  for frame in handle:bodyChunks() do
    count = count + 1
    if count == settings.max_frames then
      local headers, metadata = handle:headers(), handle:streamInfo():dynamicMetadata()
      local coding = errors == "rest" and M.content_coding(headers)
      local status = coding and "415" or errors == "connect" and connect.refusal(headers)
      metadata:set(M.FRAMES, "status", status or "422")
      metadata:set(M.FRAMES, "reply", coding or "")
      return frame:setBytes((" "):rep(settings.max_held_bytes + 1))
    end
  end
end

function M.on_request(handle)
  -- What the route says of the kind of the request (envoy/config/kinds.ts). Without a route it is judged.
  local headers, kind = handle:headers(), handle:metadata()
  local judge, errors = kind:get("judge") or "edge", kind:get("errors") or "rest"
  if errors ~= "rest" and make_plain(headers, "content-type"):find("^application/grpc%-web") then
    make_plain(headers, "accept") -- by this the filter for gRPC-Web responds in text
  end
  local was_asked = check(handle, headers, judge, errors)
  headers = handle:headers() -- Envoy invalidates objects while the script is suspended
  local host = headers:get(":authority") or ""
  -- HTTP/2 to the server allows neither an empty host nor such a one. The server refuses the one in its place.
  if host == "" or host:find(settings.in_bad_host) then headers:replace(":authority", settings.bad_host) end
  if judge == "nobody" and errors == "rest" then return bound_frames(handle, errors) end
  if judge ~= "edge" or errors == "grpc" then return end
  if keys.may_only_read(headers:get("authorization")) and not is_read(headers, errors) then
    handle:respond({ [":status"] = "403" }, "")
  end
  local length = headers:get("content-length")
  length = length and tonumber(length)
  if length and length > settings.max_body_bytes then handle:respond({ [":status"] = "413" }, "") end
  -- Without a length anything that is no read may have a large body: rest.lua measures it.
  local may_be_large = length and length >= reading.COUNTED_BYTES or not length and not is_read(headers, errors)
  if errors == "rest" and may_be_large then
    local account = keys.account_of(headers:get("authorization"))
    if account then handle:streamInfo():dynamicMetadata():set(M.BODY, "account", account) end
  end
  if not headers:get(":path") then -- CONNECT
    headers:remove("content-type")
    handle:respond({ [":status"] = "404" }, "")
  end
  -- What comes while the server is asked Lua can't read in frames: once a minute for each key on each thread.
  if not was_asked and not (length and length <= UNCOUNTED_BYTES) then bound_frames(handle, errors) end
end

-- Learns the key of an anonymous call that went on at once, when the server has accepted it. Where the server is asked
-- about the caller, edge_service.lua learns the key.
function M.on_accepted(handle, permission, account)
  local saved = handle:streamInfo():dynamicMetadata():get(NAMESPACE)
  if saved then keys.learn(saved.authorization, handle:timestamp(), permission, account) end
end

return M
