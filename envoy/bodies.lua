-- How many bodies of one key may wait in Envoy, on each worker thread. Nobody tells a script that its request has been
-- reset, so counts are forgotten after the time that a body may take: for that long a key may have twice as many.

local settings = require("settings")

local M = {}

local waiting, since_ms = {}, 0

-- Counts a body that the filter waits for. Returns what `finish` needs, or nil if too many are waiting already.
function M.begin(authorization, now_ms)
  if math.abs(now_ms - since_ms) >= settings.body_timeout_ms then
    waiting, since_ms = {}, now_ms
  end
  local count = waiting[authorization] or 0
  if count >= settings.max_waiting_bodies then return nil end
  waiting[authorization] = count + 1
  return waiting
end

-- The body has arrived.
function M.finish(period, authorization)
  period[authorization] = period[authorization] - 1
end

return M
