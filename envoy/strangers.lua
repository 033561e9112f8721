-- Tells callers who may have a key from those who have shown none that the server knows: who brings no key at all, and
-- an address that has just been refused for too many requests without a valid one. The latter are strangers until their
-- minute is over. Strangers get answers as ever, but from slots of their own: they take none of a caller with a key.
--
-- A caller with a key who shares such an address shares these slots for that minute, and is served all the same.

local tables = require("tables")

local M = {}

local SUSPECT = tables.headers.suspect

-- Until when an address is a stranger, in ms; of this worker thread. When there are too many, all go.
local MAX_SUSPECTS = 10000
local suspects, suspect_count = {}, 0

local function address_of(handle)
  return handle:streamInfo():downstreamRemoteAddress():match("^(.*):%d+$")
end

-- Takes the server's word for it from an answer.
function M.learn(handle, headers)
  local seconds = headers:get(SUSPECT)
  if not seconds then return end
  local address = address_of(handle)
  if not suspects[address] then
    if suspect_count >= MAX_SUSPECTS then suspects, suspect_count = {}, 0 end
    suspect_count = suspect_count + 1
  end
  suspects[address] = handle:timestamp() + tonumber(seconds) * 1000
end

function M.is_stranger(handle, authorization)
  if not authorization then return true end
  if suspect_count == 0 then return false end
  local address = address_of(handle)
  local until_ms = suspects[address]
  if not until_ms then return false end
  if handle:timestamp() < until_ms then return true end
  suspects[address], suspect_count = nil, suspect_count - 1
  return false
end

return M
