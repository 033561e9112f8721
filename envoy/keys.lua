-- The API keys that the server has recently accepted, and which of them may only read. Each worker thread has its own
-- set.
--
-- To Envoy a caller is anonymous whose key is another one, or one that the server refuses or is about to check again.
-- Anonymous calls are few per address and have slots of their own, so that they can't take the slots of callers with a
-- valid key. This only selects slots and protects Envoy: the server checks each call itself.

local settings = require("settings")

local M = {}

-- At the limit the set is cleared.
local MAX_KEYS = 10000
-- A longer Authorization header has no valid key.
local MAX_BYTES = 100
-- How long a key is known. Then one request has the server check it again, while the others go on for the grace.
local TTL_MS, GRACE_MS = 60000, 10000

-- The known keys, by their one spelling: when each expires; whether it is being checked again; its account and whether
-- it may only read, neither of which ever changes; and until when the server refuses it, for a ban or its account's
-- limit.
local known, count = {}, 0

-- The keys that the server was asked about: true until it has answered, then false if it has refused them. At the
-- limit, and after the time that an answer may take, all are forgotten.
local MAX_ASKED, ASKED_MS = 1000, 2000
local asked, asked_count, asked_since_ms = {}, 0, 0

-- The one spelling of an Authorization header. Nil if it can't have a valid key. It reads what `bearerToken` reads
-- (src/platform/access/keys/format.ts), but no longer header than a valid key has: authorization.txt tests both.
function M.normalize(authorization)
  if not authorization or #authorization >= MAX_BYTES then return nil end
  local scheme, key = authorization:match("^(%a+) +(%S+) *$")
  if not scheme or scheme:lower() ~= "bearer" then return nil end
  return "Bearer " .. key
end

-- Whether a key, in its one spelling, is known. The second result is true if its request must have it checked again.
function M.is_known(spelling, now_ms)
  local key = known[spelling]
  if not key then return false, false end
  if now_ms < key.expires_ms then return true, false end
  if key.is_renewing then
    known[spelling], count = nil, count - 1
    return false, false
  end
  key.expires_ms, key.is_renewing = now_ms + GRACE_MS, true
  return true, true
end

-- Whether there is an entry of a key, be it expired. It stays as it is.
function M.has(spelling)
  return known[spelling] ~= nil
end

-- The server is asked about a key.
function M.ask(spelling, now_ms)
  if asked_count >= MAX_ASKED or math.abs(now_ms - asked_since_ms) >= ASKED_MS then
    asked, asked_count, asked_since_ms = {}, 0, now_ms
  end
  if asked[spelling] == nil then
    asked[spelling], asked_count = true, asked_count + 1
  end
end

-- Whether the server is being asked about a key.
function M.is_asked(spelling, now_ms)
  return asked[spelling] and math.abs(now_ms - asked_since_ms) < ASKED_MS
end

-- The server has accepted a key: its permission, and its account. The new entry has no refusal, which may have ended:
-- where the server refuses the key again, `refuse` comes after this.
function M.learn(spelling, now_ms, permission, account)
  asked[spelling] = nil
  if not known[spelling] then
    if count >= MAX_KEYS then
      known, count = {}, 0
    end
    count = count + 1
  end
  known[spelling] = { expires_ms = now_ms + TTL_MS, reads_only = permission == "read", account = account }
end

-- The server has refused a key, for so many seconds. Without them it is not valid: a known one is revoked, say.
function M.refuse(spelling, seconds, now_ms)
  asked[spelling] = asked[spelling] and false
  local key = known[spelling]
  if not key then return end
  if seconds then
    key.refused_until_ms = now_ms + seconds * 1000
  else
    known[spelling], count = nil, count - 1
  end
end

-- Whether the server is likely to refuse a key. Only it knows: a ban may have been lifted.
function M.is_refused(spelling, now_ms)
  local key = known[spelling]
  return key and key.refused_until_ms and now_ms < key.refused_until_ms
end

-- Whether a known key may only read.
function M.may_only_read(spelling)
  return known[spelling] ~= nil and known[spelling].reads_only
end

-- The account of a known key.
function M.account_of(spelling)
  return known[spelling] and known[spelling].account
end

-- Whether a spelling has the form of a key (src/platform/access/keys/format.ts).
function M.is_well_formed(spelling)
  return spelling and spelling:find(settings.key_pattern) and true or false
end

return M
