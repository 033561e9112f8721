-- keys.lua: which keys are known, and for how long.

local harness = require("harness")

local test, equal, fresh = harness.test, harness.equal, harness.fresh

local MAX_KEYS = 10000
local TTL_MS, GRACE_MS = 60000, 10000

test("known keys - are known for a minute after the server has accepted them", function()
  local keys = fresh("keys")
  equal({ keys.is_known("Bearer a", 0), keys.has("Bearer a") }, { false, false })
  keys.learn("Bearer a", 0, "write")
  equal({ keys.is_known("Bearer a", TTL_MS - 1) }, { true, false })
  equal({ keys.has("Bearer a"), keys.has(nil) }, { true, false })
  equal({ keys.is_known("Bearer b", 0) }, { false, false })
  equal({ keys.is_known(nil, 0) }, { false, false })
end)

test("known keys - are then checked again by one request, while the others go on for the grace", function()
  local keys = fresh("keys")
  keys.learn("Bearer a", 0, "write")
  equal({ keys.is_known("Bearer a", TTL_MS) }, { true, true })
  equal({ keys.is_known("Bearer a", TTL_MS + GRACE_MS - 1) }, { true, false })
  keys.learn("Bearer a", TTL_MS + 5, "write")
  equal({ keys.is_known("Bearer a", 2 * TTL_MS + 5) }, { true, true })
  for _ = 1, 2 do
    equal({ keys.is_known("Bearer a", 2 * TTL_MS + 5 + GRACE_MS) }, { false, false })
  end
end)

test("known keys - are refused for as long as the server has said, unless it accepts them before", function()
  local keys = fresh("keys")
  keys.refuse("Bearer a", 5, 0)
  equal(keys.is_refused("Bearer a", 1), nil) -- only a known key
  keys.learn("Bearer a", 0, "write")
  keys.refuse("Bearer a", 5, 1000)
  equal({ keys.is_refused("Bearer a", 5999), keys.is_refused("Bearer a", 6000) }, { true, false })
  keys.learn("Bearer a", 2000, "write")
  equal(keys.is_refused("Bearer a", 2000), nil)
end)

test("known keys - are known no more once the server has refused them as not valid", function()
  local keys = fresh("keys")
  keys.learn("Bearer a", 0, "write")
  keys.learn("Bearer b", 0, "write")
  keys.refuse("Bearer a", nil, 1)
  equal({ keys.has("Bearer a"), keys.is_known("Bearer b", 1) }, { false, true, false })
end)

test("known keys - are at most 10,000, each counted once, then none; an expired one makes room for another", function()
  local keys = fresh("keys")
  for _ = 1, 3 do
    for i = 1, MAX_KEYS do
      keys.learn("key-" .. i, i == 1 and -TTL_MS - GRACE_MS or 0, "write")
    end
  end
  keys.is_known("key-1", -GRACE_MS)
  keys.is_known("key-1", 0)
  keys.learn("one more", 0, "write")
  equal(keys.is_known("key-2", 0), true)
  keys.learn("two more", 0, "write")
  equal(keys.is_known("key-2", 0), false)
  equal(keys.is_known("two more", 0), true)
end)

test("known keys - may only read if the server has said so, for as long as they are known", function()
  local keys = fresh("keys")
  equal({ keys.may_only_read("Bearer a"), keys.may_only_read(nil) }, { false, false })
  keys.learn("Bearer a", 0, "read", "7")
  keys.learn("Bearer b", 0, "write", "8")
  equal({ keys.may_only_read("Bearer a"), keys.may_only_read("Bearer b") }, { true, false })
  equal({ keys.account_of("Bearer a"), keys.account_of("Bearer b") }, { "7", "8" }, "and the account of each is known")
  keys.is_known("Bearer a", TTL_MS + 1)
  keys.is_known("Bearer a", TTL_MS + 1 + GRACE_MS)
  equal({ keys.may_only_read("Bearer a"), keys.account_of("Bearer a") }, { false, nil })
end)

test("known keys - have one spelling, and are short", function()
  local normalize = fresh("keys").normalize
  for line in io.lines("envoy/test/authorization.txt") do
    local key, header = line:match("^([^#%s]%S*) %[(.*)%]$")
    if key then equal({ normalize(header) }, key ~= "-" and { "Bearer " .. key } or {}, header) end
  end
  equal({ normalize(nil) }, {})
  equal({ normalize("Bearer " .. ("a"):rep(93)) }, {})
  equal({ normalize("Bearer" .. (" "):rep(93) .. "a") }, {})
end)

test("keys in question - are those that the server has been asked about in the last two seconds", function()
  local keys = fresh("keys")
  equal(keys.is_asked("a", 5000), nil)
  keys.ask("a", 5000)
  equal({ keys.is_asked("a", 6999), keys.is_asked("b", 6999), keys.is_asked("a", 7000) }, { true, nil, false })
  keys.learn("a", 6000, "write")
  equal({ keys.is_asked("a", 6000), keys.is_known("a", 6000) }, { nil, true, false })
  for i = 1, 1000 do
    keys.ask("key-" .. i, 6000)
  end
  equal({ keys.is_asked("key-1", 6000), keys.is_asked("key-1000", 6000) }, { nil, true }, "at most 1,000")
end)

test("keys in question - are no more in question once the server has refused them, however often they come", function()
  local keys = fresh("keys")
  keys.refuse("a", nil, 5000)
  equal(keys.is_asked("a", 5000), nil)
  keys.ask("a", 5000)
  keys.refuse("a", nil, 5001)
  keys.ask("a", 5002)
  equal({ keys.is_asked("a", 5002), keys.is_known("a", 5002) }, { false, false, false })
  keys.ask("a", 7000)
  equal(keys.is_asked("a", 7000), true, "two seconds later")
end)
