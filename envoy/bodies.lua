-- How many bodies of one key may wait in Envoy, on each worker thread. Nobody tells a script that its request has been
-- reset, so counts are forgotten after the time that a body may take.

local settings = require("settings")

local M = {}

local current, previous, since_ms = {}, {}, 0

-- Counts a body that the filter waits for. Returns what `finish` needs, or nil if too many are waiting already.
function M.begin(authorization, now_ms)
  local age_ms = now_ms - since_ms
  if age_ms >= settings.body_timeout_ms or age_ms < 0 then
    previous = age_ms < 2 * settings.body_timeout_ms and current or {}
    current, since_ms = {}, now_ms
  end
  local waiting = current[authorization] or 0
  if waiting + (previous[authorization] or 0) >= settings.max_waiting_bodies then return nil end
  current[authorization] = waiting + 1
  return current
end

-- The body has arrived.
function M.finish(period, authorization)
  period[authorization] = period[authorization] - 1
end

return M
