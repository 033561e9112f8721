-- The limits of an account or an address in Redis. Each call is one atomic step, and does what windows.ts and
-- ban-tracker.ts do in memory. The numbers that callers see are made of the reply in TypeScript.
--
-- KEYS   1: what the subject has used, "index count" of each window, and "refused". For a request with an API key
--        also 2: a list, the times of the key's refusals, newest first; 3: the end of the key's ban, 0 if it was ended;
--        4: the time of the key's first refusal in its minute.
--        For a request that the edge may send again, one more at the end: what was decided on it, for REPEATED_MS
-- ARGV   1: "admit", "read" or "unban"; 2: the time in ms, 0 for Redis's own. But for "unban" 3: the end of the last
--        ban that the server knows of, or 0; 4: refusals of the day, as the server knows them; then three of each
--        window: its index and count, as the server knows them, and the quota
-- Reply  status, refused, end of the key's ban or 0, time used, index and count of each window; "unban": 1
--
-- redis.ts declares what is the same in every call, since an argument costs more: LENGTHS_MS, of the windows, the
-- shortest first, the day last; USED, the pattern of KEYS[1]; and the ban policy.

local MINUTE_MS, DAY_MS = LENGTHS_MS[1], LENGTHS_MS[#LENGTHS_MS]

local now = tonumber(ARGV[2])
if now == 0 then
  local time = redis.call("TIME")
  now = time[1] * 1000 + math.floor(time[2] / 1000)
end
local hasKey = KEYS[3] ~= nil
local decision = KEYS[hasKey and 5 or 2]

-- Ends a ban, and deletes the key's refusals. The 0 outlasts each ban that a server may still know of.
if ARGV[1] == "unban" then
  redis.call("DEL", KEYS[2], KEYS[4])
  redis.call("SET", KEYS[3], 0, "PX", BAN_MS)
  return 1
end

-- What the subject has used, index and count of each window: of two counts of a window the larger one. That is right in
-- whatever order servers come, however often, and also when Redis has lost its data.
local used, refused, hasRoom = {}, 0, true
local known = { (redis.call("GET", KEYS[1]) or ""):match(USED) }
for i, length in ipairs(LENGTHS_MS) do
  local at = 3 * i + 2
  local index, count = math.floor(now / length), 0
  refused = 0 -- by the day, which is the last
  if tonumber(ARGV[at]) == index then
    count, refused = tonumber(ARGV[at + 1]), tonumber(ARGV[4])
  end
  if tonumber(known[2 * i - 1]) == index then
    count, refused = math.max(count, known[2 * i]), math.max(refused, known[#known])
  end
  used[2 * i - 1], used[2 * i] = index, count
  hasRoom = hasRoom and count < tonumber(ARGV[at + 2])
end

-- Returns the end of the key's ban, or 0: as Redis knows it, else the server. One that is too late is a wrong clock's.
local function bannedUntil()
  local stored = redis.call("GET", KEYS[3])
  local untilMs = tonumber(stored or ARGV[3])
  if untilMs <= now or untilMs > now + BAN_MS then return 0 end
  if not stored then redis.call("SET", KEYS[3], untilMs, "PX", untilMs - now) end
  return untilMs
end

-- Records a refusal. Returns the end of the ban that it begins, else 0.
local function recordRefusal()
  local first = tonumber(redis.call("GET", KEYS[4]) or "-1")
  if math.floor(first / MINUTE_MS) ~= used[1] then
    redis.call("SET", KEYS[4], now, "PX", MINUTE_MS)
  elseif now < first + GRACE_MS then
    return 0
  end
  redis.call("LPUSH", KEYS[2], now)
  redis.call("LTRIM", KEYS[2], 0, REFUSALS - 1)
  redis.call("PEXPIRE", KEYS[2], WINDOW_MS)
  local oldest = redis.call("LINDEX", KEYS[2], REFUSALS - 1)
  if not oldest or math.abs(now - oldest) > WINDOW_MS then return 0 end
  redis.call("DEL", KEYS[2])
  redis.call("SET", KEYS[3], now + BAN_MS, "PX", BAN_MS)
  return now + BAN_MS
end

-- Decides on a request, and counts it if it is admitted. Returns the status and the end of the key's ban.
local function admit()
  local untilMs = hasKey and bannedUntil() or 0
  local decided = decision and redis.call("GET", decision)
  if decided == "admitted" or decided == "refused" and untilMs == 0 then return decided, untilMs end
  local status = untilMs > 0 and "banned" or hasRoom and "admitted" or "refused"
  if status == "admitted" then
    for at = 2, #used, 2 do
      used[at] = used[at] + 1
    end
  elseif not hasKey then
    return status, 0 -- not stored: a flood of requests causes no writes
  else
    refused = refused + 1
    if status == "refused" then untilMs = recordRefusal() end
  end
  if decision and status ~= "banned" then redis.call("SET", decision, status, "PX", REPEATED_MS) end
  local text = table.concat(used, " ") .. " " .. refused
  redis.call("SET", KEYS[1], text, "PX", hasKey and DAY_MS or MINUTE_MS) -- from the last change
  return status, untilMs
end

local status, untilMs = "seen", 0
if ARGV[1] == "admit" then
  status, untilMs = admit()
elseif hasKey then
  untilMs = bannedUntil()
  if untilMs > 0 then status = "banned" end
end
return { status, refused, untilMs, now, unpack(used) }
