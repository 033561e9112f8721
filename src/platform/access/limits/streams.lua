-- How many streams of events an account has open, over all servers. Each server tells its own number, again and again:
-- that of a server which does so no more is forgotten. So nothing has to be taken back after a crash, or restored when
-- Redis has lost its data.
--
-- KEYS   1: a hash of the account, from a server's name to "number of its streams, end of this information in ms"
-- ARGV   1: the server; 2: how many streams it has, the new one included; 3: how many the account may have;
--        4: for how many ms this is believed
-- Reply  1 if the number is stored; 0 if the account would have too many, and nothing changes

local KEPT_MS = tonumber(ARGV[4])

local time = redis.call("TIME")
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local own = tonumber(ARGV[2])

local others = 0
local entries = redis.call("HGETALL", KEYS[1])
for i = 1, #entries, 2 do
  local server = entries[i]
  local count, untilMs = entries[i + 1]:match("^(%d+) (%d+)")
  -- An end that is too far ahead was set by a wrong clock.
  local isKept = tonumber(untilMs) > now and tonumber(untilMs) <= now + KEPT_MS
  if not isKept then
    redis.call("HDEL", KEYS[1], server)
  elseif server ~= ARGV[1] then
    others = others + count
  end
end

if own + others > tonumber(ARGV[3]) then return 0 end
if own == 0 then
  redis.call("HDEL", KEYS[1], ARGV[1])
else
  redis.call("HSET", KEYS[1], ARGV[1], own .. " " .. now + KEPT_MS)
  redis.call("PEXPIRE", KEYS[1], KEPT_MS)
end
return 1
