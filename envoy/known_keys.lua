-- The keys (Authorization headers) that the server has lately accepted, as this filter of this worker thread knows.
--
-- A caller whose key is not among them is a stranger: its calls have slots of their own, so that nobody without a valid
-- key takes a slot of a caller who has one. The first call with a valid key is a stranger's too; its answer makes the
-- key known. This only chooses slots and keeps bodies away from Envoy: the server judges every call itself.

local tables = require("tables")

local M = {}

-- Only the server adds to them, so only valid keys do. When there are too many, all go.
local MAX_KEYS = 10000
local known, count = {}, 0

-- Where Envoy keeps a stranger's key until the answer comes, among the stream's dynamic metadata.
local NAMESPACE = "petstore.key"

function M.is_known(authorization)
  return authorization ~= nil and known[authorization] == true
end

function M.learn(authorization)
  if known[authorization] then return end
  if count >= MAX_KEYS then
    known, count = {}, 0
  end
  known[authorization] = true
  count = count + 1
end

function M.forget(authorization)
  if not known[authorization] then return end
  known[authorization] = nil
  count = count - 1
end

-- Routes a stranger's call to the slots for strangers, and asks the server to say whether it accepts the key.
function M.on_request(handle, headers)
  local authorization = headers:get("authorization")
  if authorization and known[authorization] then return end
  headers:replace(tables.headers.anonymous, "1")
  handle:clearRouteCache()
  if authorization then handle:streamInfo():dynamicMetadata():set(NAMESPACE, "authorization", authorization) end
end

-- Learns a stranger's key when the server has accepted it.
function M.on_accepted(handle)
  local kept = handle:streamInfo():dynamicMetadata():get(NAMESPACE)
  if kept then M.learn(kept.authorization) end
end

return M
