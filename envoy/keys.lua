-- The API keys that the server has recently accepted. Each worker thread has its own set.
--
-- To Envoy a caller with any other key is anonymous. Anonymous calls are few per address and have slots of their own,
-- so that they can't take the slots of callers with a valid key. This only selects slots and protects Envoy: the server
-- checks each call itself.

local bit = require("bit")

local M = {}

-- At the limit the set is cleared.
local MAX_KEYS = 10000
-- A longer Authorization header has no valid key.
local MAX_BYTES = 100
-- How long a key is known. Then one request has the server check it again, while the others go on for the grace.
local TTL_MS, GRACE_MS = 60000, 10000

-- When each key expires, by its one spelling, and the keys that are being checked again.
local expires, is_renewing, count = {}, {}, 0

-- The one spelling of an Authorization header, and its key. Nil if it can't have a valid one.
function M.normalize(authorization)
  if not authorization or #authorization >= MAX_BYTES then return nil end
  local scheme, key = authorization:match("^(%a+) +(%S+) *$")
  if not scheme or scheme:lower() ~= "bearer" then return nil end
  return "Bearer " .. key, key
end

-- Whether a key, in its one spelling, is known. The second result is true if its request must have it checked again.
function M.is_known(spelling, now_ms)
  local expires_ms = expires[spelling]
  if not expires_ms then return false, false end
  if now_ms < expires_ms then return true, false end
  if is_renewing[spelling] then
    expires[spelling], is_renewing[spelling], count = nil, nil, count - 1
    return false, false
  end
  expires[spelling], is_renewing[spelling] = now_ms + GRACE_MS, true
  return true, true
end

function M.learn(spelling, now_ms)
  if not expires[spelling] then
    if count >= MAX_KEYS then
      expires, is_renewing, count = {}, {}, 0
    end
    count = count + 1
  end
  expires[spelling], is_renewing[spelling] = now_ms + TTL_MS, nil
end

-- The format of keys, with their checksum (src/access/keys/format.ts). A key of another format was never issued.

local ALPHABET = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
local CHECKSUM_LENGTH = 6

-- CRC-32 of each byte (ISO 3309, reflected).
local CRC = {}
for byte = 0, 255 do
  local crc = byte
  for _ = 1, 8 do
    crc = bit.bxor(bit.rshift(crc, 1), bit.band(crc, 1) == 1 and 0xedb88320 or 0)
  end
  CRC[byte] = crc
end

local function checksum(text)
  local crc = -1
  for i = 1, #text do
    crc = bit.bxor(bit.rshift(crc, 8), CRC[bit.band(bit.bxor(crc, text:byte(i)), 255)])
  end
  local rest, digits = bit.bnot(crc) % 4294967296, ""
  for _ = 1, CHECKSUM_LENGTH do
    local digit = rest % #ALPHABET
    digits = ALPHABET:sub(digit + 1, digit + 1) .. digits
    rest = (rest - digit) / #ALPHABET
  end
  return digits
end

function M.is_well_formed(key)
  if #key ~= 42 or not key:find("^pst_%w+$") then return false end
  return checksum(key:sub(1, -CHECKSUM_LENGTH - 1)) == key:sub(-CHECKSUM_LENGTH)
end

return M
