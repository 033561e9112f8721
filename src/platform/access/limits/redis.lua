-- The limits of an account or an address in Redis. Each call is one atomic step, and does what windows.ts and
-- ban-tracker.ts do in memory. The numbers that callers see are made of the reply in TypeScript.
--
-- KEYS   1: what the subject has used, "minute index, count, day index, count, refused". For a request with an API key
--        also 2: a list, the times of the key's refusals, newest first; 3: the end of the key's ban, 0 if it was ended;
--        4: the time of the key's first refusal in its minute.
--        For a request that the edge may send again, one more at the end: what was decided on it, for ARGV[11] ms
-- ARGV   1: "admit", "read" or "unban"; 2: the time in ms, 0 for Redis's own; 3 to 6: the ban policy (duration,
--        refusals, window, grace); but for "unban" 7: what the subject has used, as the server knows it; for "admit" 8
--        and 9: the quota by the minute and by the day; 10: the end of the last ban that the server knows of, or 0
-- Reply  status, minute index and count, day index and count, refused, end of the key's ban or 0, time used; "unban": 1

local MINUTE_MS, DAY_MINUTES = 60000, 1440
local ACCOUNT_EXPIRY_MS, ADDRESS_EXPIRY_MS = DAY_MINUTES * MINUTE_MS, MINUTE_MS -- from the last change

local now = tonumber(ARGV[2])
if now == 0 then
  local time = redis.call("TIME")
  now = time[1] * 1000 + math.floor(time[2] / 1000)
end
local minuteIndex = math.floor(now / MINUTE_MS)
local dayIndex = math.floor(minuteIndex / DAY_MINUTES)
local isAccount = KEYS[3] ~= nil
local decision = KEYS[isAccount and 5 or 2]
local durationMs, maxRefusals = tonumber(ARGV[3]), tonumber(ARGV[4])
local windowMs, graceMs = tonumber(ARGV[5]), tonumber(ARGV[6])

-- What the subject has used: of two counts of a window the larger one. That is right in whatever order servers come,
-- however often, and also when Redis has lost its data.
local minuteCount, dayCount, refused = 0, 0, 0
local function merge(used)
  local minute, ofMinute, day, ofDay, refusedOfDay = (used or ""):match("^(%d+) (%d+) (%d+) (%d+) (%d+)")
  if tonumber(minute) == minuteIndex then minuteCount = math.max(minuteCount, ofMinute) end
  if tonumber(day) == dayIndex then
    dayCount, refused = math.max(dayCount, ofDay), math.max(refused, refusedOfDay)
  end
end
merge(ARGV[7])
merge(redis.call("GET", KEYS[1]))

-- Returns the end of the key's ban, 0 without one: what Redis knows, or else what the server knows. A ban that ends
-- later than a new one was set by a wrong clock.
local function bannedUntil()
  local stored = redis.call("GET", KEYS[3])
  local untilMs = tonumber(stored or ARGV[10])
  if untilMs <= now or untilMs > now + durationMs then return 0 end
  if not stored then redis.call("SET", KEYS[3], untilMs, "PX", untilMs - now) end
  return untilMs
end

-- Records a refusal. Returns the end of the ban that it begins, else 0.
local function recordRefusal()
  local first = tonumber(redis.call("GET", KEYS[4]) or "-1")
  if math.floor(first / MINUTE_MS) ~= minuteIndex then
    redis.call("SET", KEYS[4], now, "PX", MINUTE_MS)
  elseif now < first + graceMs then
    return 0
  end
  redis.call("LPUSH", KEYS[2], now)
  redis.call("LTRIM", KEYS[2], 0, maxRefusals - 1)
  redis.call("PEXPIRE", KEYS[2], windowMs)
  local oldest = redis.call("LINDEX", KEYS[2], maxRefusals - 1)
  if not oldest or math.abs(now - oldest) > windowMs then return 0 end
  redis.call("DEL", KEYS[2])
  redis.call("SET", KEYS[3], now + durationMs, "PX", durationMs)
  return now + durationMs
end

-- Decides on a request, and counts it if it is admitted. Returns the status and the end of the key's ban.
local function admit()
  local untilMs = isAccount and bannedUntil() or 0
  local decided = decision and redis.call("GET", decision)
  if decided == "admitted" or decided == "refused" and untilMs == 0 then return decided, untilMs end
  local hasRoom = minuteCount < tonumber(ARGV[8]) and dayCount < tonumber(ARGV[9])
  local status = untilMs > 0 and "banned" or hasRoom and "admitted" or "refused"
  if status == "admitted" then
    minuteCount, dayCount = minuteCount + 1, dayCount + 1
  elseif not isAccount then
    return status, 0 -- not stored: a flood of requests causes no writes
  else
    refused = refused + 1
    if status == "refused" then untilMs = recordRefusal() end
  end
  if decision and status ~= "banned" then redis.call("SET", decision, status, "PX", ARGV[11]) end
  local used = table.concat({ minuteIndex, minuteCount, dayIndex, dayCount, refused }, " ")
  redis.call("SET", KEYS[1], used, "PX", isAccount and ACCOUNT_EXPIRY_MS or ADDRESS_EXPIRY_MS)
  return status, untilMs
end

-- Ends a ban, and deletes the key's refusals. The 0 outlasts each ban that a server may still know of.
if ARGV[1] == "unban" then
  redis.call("DEL", KEYS[2], KEYS[4])
  redis.call("SET", KEYS[3], 0, "PX", durationMs)
  return 1
end

local status, untilMs = "seen", 0
if ARGV[1] == "admit" then
  status, untilMs = admit()
elseif isAccount then
  untilMs = bannedUntil()
  if untilMs > 0 then status = "banned" end
end
return { status, minuteIndex, minuteCount, dayIndex, dayCount, refused, untilMs, now }
