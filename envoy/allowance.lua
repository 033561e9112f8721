-- How many requests an address may send without a known key: a burst, and a rate after it. What exceeds it is refused
-- without asking the server. Each worker thread counts for itself. The server has stricter limits, and counts for all.

local settings = require("settings")

local M = {}

-- At the limit all are forgotten.
local MAX_SUBJECTS = 20000
-- A token bucket as one number (GCRA): the time at which the subject's whole allowance is back.
local INTERVAL_MS = 1000 / settings.address_per_second
local BURST_MS = INTERVAL_MS * settings.address_burst

local full_at, count = {}, 0

-- The first 64 bits of an IPv6 address, which belong to one caller; an IPv4 address as it is.
function M.network(address)
  local ipv4 = address:match("^::ffff:(%d+%..*)$")
  if ipv4 or not address:find(":", 1, true) then return ipv4 or address end
  local text = address:gsub("^:", "0:")
  local _, colons = text:gsub(":", "")
  -- "::" stands for all zeros that are missing.
  return text:gsub("::", (":0"):rep(8 - colons) .. ":"):match("^%x+:%x+:%x+:%x+")
end

-- Spends one request, or several for a dear one, of the allowance of this `name` that the address has, of so many
-- bursts. Returns false if too little is left.
function M.spend(name, address, now_ms, bursts, requests)
  local burst_ms, cost_ms = BURST_MS * (bursts or 1), INTERVAL_MS * (requests or 1)
  local subject = name .. M.network(address)
  local at = full_at[subject]
  if not at then
    if count >= MAX_SUBJECTS then
      full_at, count = {}, 0
    end
    count = count + 1
  end
  -- A time beyond the burst is from before the clock was set back.
  if not at or at < now_ms or at - now_ms > burst_ms then at = now_ms end
  local is_allowed = at + cost_ms - now_ms <= burst_ms
  full_at[subject] = is_allowed and at + cost_ms or at
  return is_allowed
end

return M
