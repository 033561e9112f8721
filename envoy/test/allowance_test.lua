-- allowance.lua: how many requests an address may send without a known key.

local harness = require("harness")
local settings = require("settings")

local test, equal, fresh = harness.test, harness.equal, harness.fresh
local BURST, PER_SECOND = settings.address_burst, settings.address_per_second

-- How many of `count` requests are allowed at this time.
local function allowed(allowance, count, address, now_ms, name)
  local total = 0
  for _ = 1, count do
    if allowance.spend(name or "none ", address, now_ms) then total = total + 1 end
  end
  return total
end

test("an address - has a burst, and then so many requests a second", function()
  local allowance = fresh("allowance")
  equal(allowed(allowance, 500, "10.0.0.1", 1000), BURST)
  equal(allowed(allowance, 500, "10.0.0.1", 2000), PER_SECOND)
  equal(allowed(allowance, 500, "10.0.0.1", 2050), 1)
  equal(allowed(allowance, 500, "10.0.0.1", 60000), BURST, "after a pause")
end)

test("an address - shares its allowance with no other, and has one for each kind of request", function()
  local allowance = fresh("allowance")
  for _, name in ipairs({ "none ", "key ", "open " }) do
    equal(allowed(allowance, 500, "10.0.0.1", 10000000, name), BURST)
  end
  equal(allowed(allowance, 500, "10.0.0.2", 10000000), BURST)
  equal(allowed(allowance, 500, "10.0.0.1", 1000), BURST, "the clock was set back")
end)

test("an address - may send fewer of a request that counts as several", function()
  local allowance = fresh("allowance")
  local total = 0
  for _ = 1, 500 do
    if allowance.spend("open ", "10.0.0.1", 1000, 1, 3) then total = total + 1 end
  end
  equal(total, math.floor(BURST / 3))
end)

test("an address - of IPv6 shares its allowance with its /64, and a mapped IPv4 address is that address", function()
  local network = fresh("allowance").network
  local names, networks = {}, {}
  for line in io.lines("envoy/test/networks.txt") do
    local name, addresses = line:match("^([^#%s]%S*) (.+)$")
    for address in (addresses or ""):gmatch("%S+") do
      local found = network(address)
      names[found], networks[name] = names[found] or name, networks[name] or found
      local where = address .. ": allowance.lua and src/platform/rpc/address.ts differ"
      equal({ names[found], networks[name] }, { name, found }, where)
    end
  end
  equal(names["192.0.2.1"], "192.0.2.1")
end)

test("an address - starts anew when too many are counted", function()
  local allowance = fresh("allowance")
  allowed(allowance, 500, "first", 1000)
  for i = 1, 19999 do
    allowance.spend("none ", "address-" .. i, 1000)
  end
  equal(allowed(allowance, 1, "first", 1000), 0)
  allowance.spend("none ", "one more", 1000)
  equal(allowed(allowance, 500, "first", 1000), BURST)
end)
