-- The limits of an account or an address in Redis. Each call is one atomic step, and does what windows.ts and
-- ban-tracker.ts do in memory. The numbers that callers see are made of the reply in TypeScript.
--
-- KEYS   1: what the subject has used, "index count" of each window, and "refused". For a request with an API key
--        also 2: a list, the times of the key's refusals, newest first; 3: the end of the key's ban, 0 if it was ended;
--        4: the time of the key's first refusal in its minute.
--        For a request that the edge may send again, one more at the end: what was decided on it, for ARGV[8] ms
-- ARGV   1: "admit", "read" or "unban"; 2: the time in ms, 0 for Redis's own; 3 to 6: the ban policy (duration,
--        refusals, window, grace). But for "unban" 7: the end of the last ban that the server knows of, or 0; 8: the
--        time in ms that a decision is kept; 9: refusals of the day, as the server knows them; then four of each
--        window, the shortest first, the day last: its length in ms, its index and count, as the server knows them, and
--        the quota
-- Reply  status, index and count of each window, refused, end of the key's ban or 0, time used; "unban": 1

local now = tonumber(ARGV[2])
if now == 0 then
  local time = redis.call("TIME")
  now = time[1] * 1000 + math.floor(time[2] / 1000)
end
local isAccount = KEYS[3] ~= nil
local decision = KEYS[isAccount and 5 or 2]
local durationMs, maxRefusals = tonumber(ARGV[3]), tonumber(ARGV[4])
local windowMs, graceMs = tonumber(ARGV[5]), tonumber(ARGV[6])

-- What the subject has used: of two counts of a window the larger one. That is right in whatever order servers come,
-- however often, and also when Redis has lost its data.
local lengths, indices, counts, refused = {}, {}, {}, 0
for at = 10, #ARGV, 4 do
  local i, length = #lengths + 1, tonumber(ARGV[at])
  local index = math.floor(now / length)
  local isNow = tonumber(ARGV[at + 1]) == index
  lengths[i], indices[i], counts[i] = length, index, isNow and tonumber(ARGV[at + 2]) or 0
  refused = isNow and tonumber(ARGV[9]) or 0 -- by the day, which is the last
end
local MINUTE_MS, DAY_MS = lengths[1], lengths[#lengths]
local known = { (redis.call("GET", KEYS[1]) or ""):match("^" .. ("(%d+) "):rep(2 * #indices) .. "(%d+)") }
for i, index in ipairs(indices) do
  if tonumber(known[2 * i - 1]) == index then
    counts[i] = math.max(counts[i], known[2 * i])
    if i == #indices then refused = math.max(refused, known[2 * i + 1]) end
  end
end

-- Returns the end of the key's ban, 0 without one: what Redis knows, or else what the server knows. A ban that ends
-- later than a new one was set by a wrong clock.
local function bannedUntil()
  local stored = redis.call("GET", KEYS[3])
  local untilMs = tonumber(stored or ARGV[7])
  if untilMs <= now or untilMs > now + durationMs then return 0 end
  if not stored then redis.call("SET", KEYS[3], untilMs, "PX", untilMs - now) end
  return untilMs
end

-- Records a refusal. Returns the end of the ban that it begins, else 0.
local function recordRefusal()
  local first = tonumber(redis.call("GET", KEYS[4]) or "-1")
  if math.floor(first / MINUTE_MS) ~= indices[1] then
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
  local hasRoom = true
  for i, count in ipairs(counts) do
    hasRoom = hasRoom and count < tonumber(ARGV[9 + 4 * i])
  end
  local status = untilMs > 0 and "banned" or hasRoom and "admitted" or "refused"
  if status == "admitted" then
    for i, count in ipairs(counts) do
      counts[i] = count + 1
    end
  elseif not isAccount then
    return status, 0 -- not stored: a flood of requests causes no writes
  else
    refused = refused + 1
    if status == "refused" then untilMs = recordRefusal() end
  end
  if decision and status ~= "banned" then redis.call("SET", decision, status, "PX", ARGV[8]) end
  local used = {}
  for i, index in ipairs(indices) do
    used[i] = index .. " " .. counts[i]
  end
  local text = table.concat(used, " ") .. " " .. refused
  redis.call("SET", KEYS[1], text, "PX", isAccount and DAY_MS or MINUTE_MS) -- from the last change
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
local reply = { status }
for i, index in ipairs(indices) do
  reply[2 * i], reply[2 * i + 1] = index, counts[i]
end
for _, number in ipairs({ refused, untilMs, now }) do
  reply[#reply + 1] = number
end
return reply
