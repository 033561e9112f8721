-- For how long the bodies of one account are read. While a worker thread reads a body it serves nobody else, and 64 KB
-- take up to 5 ms: a burst of 400 would keep all others waiting for a second. What comes beyond this is to be sent
-- again. Each worker thread counts for itself.

local M = {}

-- The shortest body that is counted: to read it takes longer than to look at the clock.
M.COUNTED_BYTES = 8192

local MAX_MS, WINDOW_MS = 50, 1000
-- By the account, since the last window began.
local spent, began_ms = {}, 0

-- Whether another body of the account may be read.
function M.may_read(account, now_ms)
  if math.abs(now_ms - began_ms) >= WINDOW_MS then
    spent, began_ms = {}, now_ms
  end
  return (spent[account] or 0) < MAX_MS
end

-- A body of the account has been read.
function M.spend(account, ms)
  spent[account] = (spent[account] or 0) + math.max(ms, 0)
end

return M
