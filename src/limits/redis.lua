-- The limits' state in Redis, and what may be done with it, each in one atomic step: what windows.ts and bans.ts do in
-- memory. The numbers that a caller is shown are made of the reply in TypeScript, by the same functions.
--
-- KEYS   1: the windows of an account or an address, a hash; of an account's key also
--        2: its refusals' times, a list, newest first; 3: the end of its ban
-- ARGV   1: what to do; 2: the time in ms, 0 for Redis's own; 3: the server that asks; then what each function says
-- Reply  status, minute index and count, day index and count, refused, time, end of a ban or 0, how much of the minute
--        and of the day the server itself has counted, epoch
--
-- A hash has an epoch, which is when it was made: Redis that has lost its data begins another one.

local MINUTE_MS, DAY_MINUTES = 60000, 1440
local SLACK_MS = { account = 3600000, address = 60000 } -- keys outlive what they say

local kind = KEYS[3] and "account" or "address"
local own = "own:" .. ARGV[3]
local stored = redis.call("HMGET", KEYS[1], "time", "minute", "minutes", "day", "days", "refused", "epoch", own)

local now = tonumber(ARGV[2])
if now == 0 then
  local time = redis.call("TIME")
  now = time[1] * 1000 + math.floor(time[2] / 1000)
end
-- Time stands still when a clock goes back a little. A clock that goes back by more was wrong before.
local latest = tonumber(stored[1] or 0)
if latest > now and latest - now <= MINUTE_MS then now = latest end

local minute = math.floor(now / MINUTE_MS)
local day = math.floor(minute / DAY_MINUTES)
local isNewMinute, isNewDay = minute ~= tonumber(stored[2] or -1), day ~= tonumber(stored[4] or -1)
local minutes = isNewMinute and 0 or tonumber(stored[3])
local days, refused = isNewDay and 0 or tonumber(stored[5]), isNewDay and 0 or tonumber(stored[6])
local epoch = not isNewDay and stored[7] or ""
local ownMinute, ownMinutes, ownDays = string.match(not isNewDay and stored[8] or "", "(%S+) (%S+) (%S+)")
ownMinutes, ownDays = tonumber(ownMinute) == minute and tonumber(ownMinutes) or 0, tonumber(ownDays or 0)

local function reply(status, untilMs)
  return { status, minute, minutes, day, days, refused, now, untilMs, ownMinutes, ownDays, epoch }
end

local function save()
  if isNewDay then redis.call("DEL", KEYS[1]) end
  -- stylua: ignore
  redis.call("HSET", KEYS[1], "time", now, "minute", minute, "minutes", minutes, "day", day, "days", days,
    "refused", refused)
  if kind == "account" then
    if epoch == "" then epoch = table.concat(redis.call("TIME"), ".") end
    redis.call("HSET", KEYS[1], "epoch", epoch, own, minute .. " " .. ownMinutes .. " " .. ownDays)
  end
  if isNewDay or (isNewMinute and kind == "address") then
    local ends = kind == "account" and (day + 1) * DAY_MINUTES or minute + 1
    redis.call("PEXPIRE", KEYS[1], math.ceil(ends * MINUTE_MS - now + SLACK_MS[kind]))
  end
end

local function setBan(ms)
  redis.call("SET", KEYS[3], ms, "PX", math.ceil(math.abs(ms) - now + SLACK_MS.address))
end

-- The end of the key's ban, 0 if it has none. The caller may know of one that is not known here. One that has much more
-- than a ban's duration to go is of a clock that was ahead. A moment with a minus says that bans which end by then were
-- ended by the operator: a server may not have heard of that yet.
local function bannedUntil(knownMs, durationMs)
  local storedMs, latestMs = tonumber(redis.call("GET", KEYS[3]) or 0), now + durationMs + MINUTE_MS
  if math.abs(storedMs) > latestMs then storedMs = 0 end
  if knownMs > math.abs(storedMs) and knownMs > now and knownMs <= latestMs then
    setBan(knownMs)
    storedMs = knownMs
  end
  return now < storedMs and storedMs or 0
end

-- Records a refusal. The end of the ban, if this was one too many; else 0.
local function strike(durationMs, refusals, windowMs)
  redis.call("LPUSH", KEYS[2], now)
  redis.call("LTRIM", KEYS[2], 0, refusals - 1)
  local oldest = redis.call("LINDEX", KEYS[2], refusals - 1)
  if not oldest or math.abs(now - tonumber(oldest)) > windowMs then
    redis.call("PEXPIRE", KEYS[2], math.ceil(windowMs + SLACK_MS.address))
    return 0
  end
  redis.call("DEL", KEYS[2])
  setBan(now + durationMs)
  return now + durationMs
end

local act = {}

-- Counts a request if it may pass. ARGV 4, 5: the quota by the minute and by the day; of a key 6: the end of the ban
-- that the caller knows of, or 0; 7 to 9: the ban policy. Status 1: passed, 0: refused, 2: was banned.
function act.admit()
  local isAccount = kind == "account"
  local untilMs = isAccount and bannedUntil(tonumber(ARGV[6]), tonumber(ARGV[7])) or 0
  local status = 2
  if untilMs == 0 then status = minutes < tonumber(ARGV[4]) and days < tonumber(ARGV[5]) and 1 or 0 end
  if status == 1 then
    minutes, days, ownMinutes, ownDays = minutes + 1, days + 1, ownMinutes + 1, ownDays + 1
  elseif isAccount then
    refused = refused + 1
  end
  if status == 0 and isAccount then untilMs = strike(tonumber(ARGV[7]), tonumber(ARGV[8]), tonumber(ARGV[9])) end
  -- An address past its limit changes nothing: a flood is not written down.
  if isAccount or status == 1 then save() end
  return reply(status, untilMs)
end

function act.peek()
  return reply(1, 0)
end

-- Makes a ban known that began elsewhere. ARGV 4: its end; 5: how long a ban is.
function act.ban()
  return reply(1, bannedUntil(tonumber(ARGV[4]), tonumber(ARGV[5])))
end

-- Ends a ban, and forgets the key's refusals. ARGV 4: the end of the ban that the caller knows of, or 0; 5: how long a
-- ban is. Whatever began until now is over; the reply's end is the last that such a ban could have had.
function act.unban()
  local durationMs = tonumber(ARGV[5])
  local untilMs = math.max(bannedUntil(tonumber(ARGV[4]), durationMs), now + durationMs)
  redis.call("DEL", KEYS[2])
  setBan(-untilMs)
  return reply(1, untilMs)
end

-- Brings in what a server has let through by itself. ARGV 4: the epoch that it has last seen, '' for none; then for the
-- minute 5: index, 6: total last seen, 7: how much of that was its own, 8: counted since; 9 to 12: the day likewise;
-- 13 to 15: refused in that day, with none its own.
--
-- Within an epoch the server's own count is put right: what it asked for and never heard of may be in it or not. In
-- another epoch all that was seen before comes in once, whoever comes first: `floors` say how much of it is here.
function act.merge()
  local seenEpoch = ARGV[4]
  local floors = not isNewDay and redis.call("HGET", KEYS[1], "floors") or "0 0 0 0"
  local floorMinute, minuteFloor, dayFloor, refusedFloor = string.match(floors, "(%S+) (%S+) (%S+) (%S+)")
  if tonumber(floorMinute) ~= minute then minuteFloor = 0 end

  local function merged(count, ownCount, floor, at)
    local seen, seenOwn, since = tonumber(ARGV[at]), tonumber(ARGV[at + 1]), tonumber(ARGV[at + 2])
    if seenEpoch ~= "" and seenEpoch == epoch then return count + seenOwn + since - ownCount, seenOwn + since, floor end
    local raise = math.max(0, seen - (seenEpoch == "" and count or floor))
    return count + raise + since, ownCount + since, floor + raise
  end
  if tonumber(ARGV[5]) == minute then
    minutes, ownMinutes, minuteFloor = merged(minutes, ownMinutes, minuteFloor, 6)
  end
  if tonumber(ARGV[9]) == day then
    days, ownDays, dayFloor = merged(days, ownDays, dayFloor, 10)
    local _
    refused, _, refusedFloor = merged(refused, 0, refusedFloor, 13)
  end
  save()
  redis.call("HSET", KEYS[1], "floors", table.concat({ minute, minuteFloor, dayFloor, refusedFloor }, " "))
  return reply(1, 0)
end

return act[ARGV[1]]()
