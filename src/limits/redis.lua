-- The limits' state in Redis, and what may be done with it, each in one atomic step: what windows.ts and bans.ts do in
-- memory. The numbers that a caller is shown are made of the reply in TypeScript, by the same functions.
--
-- KEYS   1: the windows of an account or an address, a hash; of an account's key also
--        2: its refusals' times, a list, newest first; 3: the end of its ban
-- ARGV   1: what to do; 2: the time in ms; then what each function below says
-- Reply  status, minute index and count, day index and count, refused, time, end of a ban or 0, the hash's life
--
-- Time is the callers', and never goes backwards for an account: the latest that was heard is in the hash.
--
-- A hash has a life: the server's run, then when it was made. A server that comes back without its data, or with old
-- data, begins another one. Who has counts of an earlier life merges them: `floors` say how much of the old life is
-- already in the counts, so that it comes in once, whoever comes first.

local MINUTE_MS, DAY_MINUTES = 60000, 1440
-- Keys outlive what they say, by Redis's own clock: callers' clocks differ.
local SLACK_MS = { account = 3600000, address = 60000 }

local kind = KEYS[3] and 'account' or 'address'
local stored = redis.call('HMGET', KEYS[1], 'time', 'minute', 'minutes', 'day', 'days', 'refused', 'life')
local isNew = not stored[2]
local now = math.max(tonumber(ARGV[2]), tonumber(stored[1] or 0))
local minute, minuteCount = tonumber(stored[2] or -1), tonumber(stored[3] or 0)
local day, dayCount = tonumber(stored[4] or -1), tonumber(stored[5] or 0)
local refused, life = tonumber(stored[6] or 0), stored[7] or ''

-- Moves to the windows of this moment.
local minuteNow = math.floor(now / MINUTE_MS)
local dayNow = math.floor(minuteNow / DAY_MINUTES)
local hasNewMinute, hasNewDay = minuteNow > minute, dayNow > day
if hasNewMinute then minute, minuteCount = minuteNow, 0 end
if hasNewDay then day, dayCount, refused = dayNow, 0, 0 end

local function reply(status, untilMs)
  return { status, minute, minuteCount, day, dayCount, refused, now, untilMs, life }
end

-- INFO may be forbidden to this user. Then a server that lost its data is not told from one that did not.
local function runId()
  local info = redis.pcall('INFO', 'server')
  return type(info) == 'string' and string.match(info, 'run_id:(%w+)') or ''
end

local function newLife()
  local time = redis.call('TIME')
  return runId() .. ':' .. time[1] .. '.' .. time[2]
end

local function save()
  if isNew and kind == 'account' and life == '' then life = newLife() end
  redis.call('HSET', KEYS[1], 'time', now, 'minute', minute, 'minutes', minuteCount, 'day', day, 'days', dayCount,
    'refused', refused, 'life', life)
  if hasNewMinute then redis.call('HDEL', KEYS[1], 'minuteFloor') end
  if hasNewDay then redis.call('HDEL', KEYS[1], 'dayFloor', 'refusedFloor') end
  if hasNewDay or (hasNewMinute and kind == 'address') then
    local ends = kind == 'account' and (day + 1) * DAY_MINUTES or minute + 1
    redis.call('PEXPIRE', KEYS[1], math.ceil(ends * MINUTE_MS - now + SLACK_MS[kind]))
  end
end

-- The end of the key's ban, 0 if it has none. The caller may know of one that is not known here.
local function bannedUntil(knownMs)
  local storedMs = tonumber(redis.call('GET', KEYS[3]) or 0)
  if knownMs > storedMs and knownMs > now then
    redis.call('SET', KEYS[3], knownMs, 'PX', math.ceil(knownMs - now + SLACK_MS.address))
  end
  local untilMs = math.max(storedMs, knownMs)
  return now < untilMs and untilMs or 0
end

-- Records a refusal. The end of the ban, if this was one too many; else 0.
local function strike(refusals, windowMs, durationMs)
  redis.call('LPUSH', KEYS[2], now)
  redis.call('LTRIM', KEYS[2], 0, refusals - 1)
  local oldest = redis.call('LINDEX', KEYS[2], refusals - 1)
  if not oldest or now - tonumber(oldest) > windowMs then
    redis.call('PEXPIRE', KEYS[2], math.ceil(windowMs + SLACK_MS.address))
    return 0
  end
  redis.call('DEL', KEYS[2])
  return bannedUntil(now + durationMs)
end

local act = {}

-- Counts a request if it may pass. ARGV 3, 4: the quota by the minute and by the day; of a key 5: the end of the ban
-- that the caller knows of, or 0; 6 to 8: the ban policy. Status 1: passed, 0: refused, 2: was banned.
function act.admit()
  local isAccount = kind == 'account'
  local untilMs = isAccount and bannedUntil(tonumber(ARGV[5])) or 0
  local status = 2
  if untilMs == 0 then
    status = minuteCount < tonumber(ARGV[3]) and dayCount < tonumber(ARGV[4]) and 1 or 0
  end
  if status == 1 then
    minuteCount, dayCount = minuteCount + 1, dayCount + 1
  elseif isAccount then
    refused = refused + 1
  end
  if status == 0 and isAccount then untilMs = strike(tonumber(ARGV[6]), tonumber(ARGV[7]), tonumber(ARGV[8])) end
  -- An address past its limit changes nothing: a flood is not written down.
  if isAccount or status == 1 then save() end
  return reply(status, untilMs)
end

function act.peek()
  return reply(1, 0)
end

-- Makes a ban known that began elsewhere. ARGV 3: its end.
function act.ban()
  return reply(1, bannedUntil(tonumber(ARGV[3])))
end

-- Brings in what one caller counted by itself. ARGV 3: the life that its totals are of, '' for none; then for the
-- minute 4: index, 5: total when last heard from here, 6: counted since; 7 to 9: the day likewise; 10, 11: refused in
-- that day.
function act.merge()
  local floors = redis.call('HMGET', KEYS[1], 'minuteFloor', 'dayFloor', 'refusedFloor')
  if hasNewMinute then floors[1] = 0 end
  if hasNewDay then floors[2], floors[3] = 0, 0 end
  if life == '' then
    life = newLife()
  elseif string.match(life, '^[^:]*') ~= runId() then
    -- The server came back with data of its past: all of that is of the old life.
    life = newLife()
    floors = { minuteCount, dayCount, refused }
  end

  local isForeign = ARGV[3] ~= '' and ARGV[3] ~= life
  local function merged(which, count, at)
    local base, since, floor = tonumber(ARGV[at]), tonumber(ARGV[at + 1]), tonumber(floors[which] or 0)
    local raise = math.max(0, base - (isForeign and floor or count))
    floors[which] = floor + raise
    return count + raise + since
  end
  if tonumber(ARGV[4]) == minute then minuteCount = merged(1, minuteCount, 5) end
  if tonumber(ARGV[7]) == day then
    dayCount = merged(2, dayCount, 8)
    refused = merged(3, refused, 10)
  end
  save()
  redis.call('HSET', KEYS[1], 'minuteFloor', floors[1] or 0, 'dayFloor', floors[2] or 0, 'refusedFloor', floors[3] or 0)
  return reply(1, 0)
end

return act[ARGV[1]]()
