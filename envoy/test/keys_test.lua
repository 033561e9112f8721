-- keys.lua: which keys are known, and for how long; the format of keys.

local harness = require("harness")

local test, equal, fresh = harness.test, harness.equal, harness.fresh

local MAX_KEYS = 10000
local TTL_MS, GRACE_MS = 60000, 10000

test("known keys - are known for a minute after the server has accepted them", function()
  local keys = fresh("keys")
  equal({ keys.is_known("Bearer a", 0) }, { false, false })
  keys.learn("Bearer a", 0)
  equal({ keys.is_known("Bearer a", TTL_MS - 1) }, { true, false })
  equal({ keys.is_known("Bearer b", 0) }, { false, false })
  equal({ keys.is_known(nil, 0) }, { false, false })
end)

test("known keys - are then checked again by one request, while the others go on for the grace", function()
  local keys = fresh("keys")
  keys.learn("Bearer a", 0)
  equal({ keys.is_known("Bearer a", TTL_MS) }, { true, true })
  equal({ keys.is_known("Bearer a", TTL_MS + GRACE_MS - 1) }, { true, false })
  keys.learn("Bearer a", TTL_MS + 5)
  equal({ keys.is_known("Bearer a", 2 * TTL_MS + 5) }, { true, true })
  for _ = 1, 2 do
    equal({ keys.is_known("Bearer a", 2 * TTL_MS + 5 + GRACE_MS) }, { false, false })
  end
end)

test("known keys - are at most 10,000, each counted once, then none; an expired one makes room for another", function()
  local keys = fresh("keys")
  for _ = 1, 3 do
    for i = 1, MAX_KEYS do
      keys.learn("key-" .. i, i == 1 and -TTL_MS - GRACE_MS or 0)
    end
  end
  keys.is_known("key-1", -GRACE_MS)
  keys.is_known("key-1", 0)
  keys.learn("one more", 0)
  equal(keys.is_known("key-2", 0), true)
  keys.learn("two more", 0)
  equal(keys.is_known("key-2", 0), false)
  equal(keys.is_known("two more", 0), true)
end)

test("known keys - have one spelling, and are short", function()
  local normalize = fresh("keys").normalize
  for _, header in ipairs({ "Bearer a", "bearer a", "BEARER    a", "Bearer a   " }) do
    equal({ normalize(header) }, { "Bearer a", "a" }, header)
  end
  for _, header in ipairs({ "", "Bearer", "Bearer ", "Basic a", "Bearer a b", "Bearera", "Bearer\ta" }) do
    equal({ normalize(header) }, {}, header)
  end
  equal({ normalize(nil) }, {})
  equal({ normalize("Bearer " .. ("a"):rep(93)) }, {})
  equal({ normalize("Bearer" .. (" "):rep(93) .. "a") }, {})
end)

test("key formats - have a prefix, a length and a checksum", function()
  local is_well_formed = fresh("keys").is_well_formed
  local key = "pst_DclQjqTF3SvtDXTNA256VnT1z61lJ0ci2uo6bI"
  equal(is_well_formed(key), true)
  for i = 5, #key do
    local other = key:sub(i, i) == "x" and "y" or "x"
    equal(is_well_formed(key:sub(1, i - 1) .. other .. key:sub(i + 1)), false, i)
  end
  for _, text in ipairs({ "", "pst_", key:sub(1, -2), key .. "0", "pso" .. key:sub(4), "pst_" .. ("_"):rep(38) }) do
    equal(is_well_formed(text), false, text)
  end
end)
