-- reading.lua: for how long the bodies of one key are read.

local harness = require("harness")

local test, equal, fresh = harness.test, harness.equal, harness.fresh

test("large bodies - of one key are read for 50 ms a second, whatever others send", function()
  local reading = fresh("reading")
  local function read(key, now_ms)
    local count = 0
    while reading.may_read(key, now_ms) do
      reading.spend(key, 4)
      count = count + 1
    end
    return count
  end
  equal({ read("Bearer a", 5000), read("Bearer a", 5999), read("Bearer b", 5999) }, { 13, 0, 13 })
  equal(read("Bearer a", 6000), 13, "a second later")
  equal(read("Bearer a", 1000), 13, "the clock was set back")
  reading.spend("Bearer b", -3600000)
  equal(read("Bearer b", 1001), 13, "it was set back while a body was read")
end)
