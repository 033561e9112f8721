-- The API keys (Authorization headers) that the server has recently accepted. Each worker thread has its own set.
--
-- To Envoy a caller with any other key is anonymous. Anonymous calls have slots of their own, so that they can't take
-- the slots of callers with a valid key. The first call with a valid key is anonymous too; its response makes the key
-- known. This only selects slots and protects Envoy from request bodies: the server checks each call itself.

local tables = require("tables")

local M = {}

-- Only the server adds keys, so all of them are valid. At the limit the set is cleared.
local MAX_KEYS = 10000
local known, count = {}, 0

-- The stream's dynamic metadata holds an anonymous caller's key until the response.
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

-- Routes an anonymous call to the slots for such calls, and asks the server to say whether it accepts the key.
function M.on_request(handle, headers)
  local authorization = headers:get("authorization")
  if authorization and known[authorization] then return end
  headers:replace(tables.headers.anonymous, "1")
  handle:clearRouteCache()
  if authorization then handle:streamInfo():dynamicMetadata():set(NAMESPACE, "authorization", authorization) end
end

-- Learns the key of an anonymous call that the server has accepted.
function M.on_accepted(handle)
  local saved = handle:streamInfo():dynamicMetadata():get(NAMESPACE)
  if saved then M.learn(saved.authorization) end
end

return M
