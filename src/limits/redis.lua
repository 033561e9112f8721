-- The state of the limits in Redis. Each call is one atomic step, and does what windows.ts and ban-tracker.ts do in
-- memory. The numbers that callers see are made of the reply in TypeScript, by the functions of windows.ts.
--
-- KEYS   1: a hash, the windows of an account or an address. For a request with an API key also
--        2: a list, the times of the key's refusals, newest first; 3: a string, the end of the key's ban
-- ARGV   1: the action; 2: the time in ms, 0 for Redis's own; 3: the id of the calling server; then as each action says
-- Reply  status, minute index and count, day index and count, refused, time used, end of the key's ban or 0, how much
--        of the minute and of the day the calling server has counted, epoch
--
-- The epoch of an account's hash is when the hash was created: a new epoch means that Redis has lost its data.

local MINUTE_MS, DAY_MINUTES = 60000, 1440
local EXPIRY_SLACK_MS = { account = 3600000, address = 60000 } -- keys expire later than what they hold

local kind = KEYS[3] and "account" or "address"
local ownField = "own:" .. ARGV[3]
local stored = redis.call("HMGET", KEYS[1], "time", "minute", "minutes", "day", "days", "refused", "epoch", ownField)

local now = tonumber(ARGV[2])
if now == 0 then
  local time = redis.call("TIME")
  now = time[1] * 1000 + math.floor(time[2] / 1000)
end
-- A small step back of the clock is ignored. A larger one means that the clock was wrong before, and is followed.
local latest = tonumber(stored[1] or 0)
if latest > now and latest - now <= MINUTE_MS then now = latest end

local minuteIndex = math.floor(now / MINUTE_MS)
local dayIndex = math.floor(minuteIndex / DAY_MINUTES)
local isNewMinute, isNewDay = minuteIndex ~= tonumber(stored[2] or -1), dayIndex ~= tonumber(stored[4] or -1)
local minuteCount = isNewMinute and 0 or tonumber(stored[3])
local dayCount, refused = isNewDay and 0 or tonumber(stored[5]), isNewDay and 0 or tonumber(stored[6])
local epoch = not isNewDay and stored[7] or ""
local ownMinuteIndex, ownMinute, ownDay = string.match(not isNewDay and stored[8] or "", "(%S+) (%S+) (%S+)")
ownMinute = tonumber(ownMinuteIndex) == minuteIndex and tonumber(ownMinute) or 0
ownDay = tonumber(ownDay or 0)

local function reply(status, untilMs)
  -- stylua: ignore
  return {
    status, minuteIndex, minuteCount, dayIndex, dayCount, refused, now, untilMs, ownMinute, ownDay, epoch,
  }
end

local function save()
  if isNewDay then redis.call("DEL", KEYS[1]) end
  -- stylua: ignore
  redis.call(
    "HSET", KEYS[1], "time", now, "minute", minuteIndex, "minutes", minuteCount, "day", dayIndex, "days", dayCount,
    "refused", refused
  )
  if kind == "account" then
    if epoch == "" then epoch = table.concat(redis.call("TIME"), ".") end
    redis.call("HSET", KEYS[1], "epoch", epoch, ownField, minuteIndex .. " " .. ownMinute .. " " .. ownDay)
  end
  if isNewDay or (isNewMinute and kind == "address") then
    local lastMinute = kind == "account" and (dayIndex + 1) * DAY_MINUTES or minuteIndex + 1
    redis.call("PEXPIRE", KEYS[1], math.ceil(lastMinute * MINUTE_MS - now + EXPIRY_SLACK_MS[kind]))
  end
end

-- Stores the end of a ban. A negative number says that the operator has ended all bans that end by its absolute value.
local function storeBan(untilMs)
  redis.call("SET", KEYS[3], untilMs, "PX", math.ceil(math.abs(untilMs) - now + EXPIRY_SLACK_MS.address))
end

-- Returns the end of the key's ban, 0 without a ban. `knownMs` is the end that the calling server knows of, or 0: it is
-- stored if it is later, which undoes no ending by the operator. An end that lies too far ahead was set by a clock that
-- was ahead, and is ignored.
local function bannedUntil(knownMs, durationMs)
  local storedMs, maxMs = tonumber(redis.call("GET", KEYS[3]) or 0), now + durationMs + MINUTE_MS
  if math.abs(storedMs) > maxMs then storedMs = 0 end
  if knownMs > math.abs(storedMs) and knownMs > now and knownMs <= maxMs then
    storeBan(knownMs)
    storedMs = knownMs
  end
  return now < storedMs and storedMs or 0
end

-- Records a refusal. Returns the end of the ban that it begins, else 0.
local function recordRefusal(durationMs, maxRefusals, windowMs)
  redis.call("LPUSH", KEYS[2], now)
  redis.call("LTRIM", KEYS[2], 0, maxRefusals - 1)
  local oldest = redis.call("LINDEX", KEYS[2], maxRefusals - 1)
  if not oldest or math.abs(now - tonumber(oldest)) > windowMs then
    redis.call("PEXPIRE", KEYS[2], math.ceil(windowMs + EXPIRY_SLACK_MS.address))
    return 0
  end
  redis.call("DEL", KEYS[2])
  storeBan(now + durationMs)
  return now + durationMs
end

local actions = {}

-- Decides on a request, and counts it if it is admitted. ARGV 4, 5: the quota by the minute and by the day; with an API
-- key also 6: the end of the ban that the server knows of, or 0; 7 to 9: the ban policy (duration, refusals, window).
function actions.admit()
  local isAccount = kind == "account"
  local untilMs = isAccount and bannedUntil(tonumber(ARGV[6]), tonumber(ARGV[7])) or 0
  local status = "banned"
  if untilMs == 0 then
    status = minuteCount < tonumber(ARGV[4]) and dayCount < tonumber(ARGV[5]) and "admitted" or "refused"
  end
  if status == "admitted" then
    minuteCount, dayCount, ownMinute, ownDay = minuteCount + 1, dayCount + 1, ownMinute + 1, ownDay + 1
  elseif isAccount then
    refused = refused + 1
  end
  if status == "refused" and isAccount then
    untilMs = recordRefusal(tonumber(ARGV[7]), tonumber(ARGV[8]), tonumber(ARGV[9]))
  end
  -- The refusals of an address are not stored: a flood of requests causes no writes.
  if isAccount or status == "admitted" then save() end
  return reply(status, untilMs)
end

function actions.peek()
  return reply("", 0)
end

-- Stores a ban that began elsewhere. ARGV 4: its end; 5: the duration of bans.
function actions.ban()
  return reply("", bannedUntil(tonumber(ARGV[4]), tonumber(ARGV[5])))
end

-- Ends a ban, and deletes the key's refusals. ARGV 4: the end of the ban that the server knows of, or 0; 5: the
-- duration of bans. All bans that have begun until now end: the reply has the latest end that one of them could have.
function actions.unban()
  local durationMs = tonumber(ARGV[5])
  local untilMs = math.max(bannedUntil(tonumber(ARGV[4]), durationMs), now + durationMs)
  redis.call("DEL", KEYS[2])
  storeBan(-untilMs)
  return reply("", untilMs)
end

-- Adds what a server has counted by itself. ARGV 4: the epoch that the server has last seen, "" for none; then for the
-- minute 5: its index, 6: the total last seen, 7: the server's own part of that total, 8: what it has counted since;
-- 9 to 12: the same for the day; 13 to 15: the same for the day's refusals, without the index, with an own part of 0.
--
-- In the epoch that the server has seen, its own part is replaced: Redis may have counted requests whose replies were
-- lost, and the server has counted these again. In another epoch, what servers had seen before is added as well, but
-- only once: the baseline is how much of it has been added already, by whichever server. Its field keeps the name that
-- servers of earlier releases know, which may share this Redis.
function actions.merge()
  local seenEpoch = ARGV[4]
  local baseline = not isNewDay and redis.call("HGET", KEYS[1], "floors") or "0 0 0 0"
  local baseMinuteIndex, baseMinute, baseDay, baseRefused = string.match(baseline, "(%S+) (%S+) (%S+) (%S+)")
  if tonumber(baseMinuteIndex) ~= minuteIndex then baseMinute = 0 end

  -- Returns the new count, the server's own part of it and the new baseline. `at` is the first index in ARGV.
  local function merge(count, own, base, at)
    local seen, seenOwn, since = tonumber(ARGV[at]), tonumber(ARGV[at + 1]), tonumber(ARGV[at + 2])
    if seenEpoch ~= "" and seenEpoch == epoch then return count + seenOwn + since - own, seenOwn + since, base end
    local missing = math.max(0, seen - (seenEpoch == "" and count or base))
    return count + missing + since, own + since, base + missing
  end
  if tonumber(ARGV[5]) == minuteIndex then
    minuteCount, ownMinute, baseMinute = merge(minuteCount, ownMinute, baseMinute, 6)
  end
  if tonumber(ARGV[9]) == dayIndex then
    dayCount, ownDay, baseDay = merge(dayCount, ownDay, baseDay, 10)
    local _
    refused, _, baseRefused = merge(refused, 0, baseRefused, 13)
  end
  save()
  redis.call("HSET", KEYS[1], "floors", table.concat({ minuteIndex, baseMinute, baseDay, baseRefused }, " "))
  return reply("", 0)
end

return actions[ARGV[1]]()
