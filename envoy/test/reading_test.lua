-- reading.lua: for how long the bodies of one account are read.

local harness = require("harness")

local test, equal, fresh = harness.test, harness.equal, harness.fresh

test("large bodies - of one account are read for 50 ms a second, whatever others send", function()
  local reading = fresh("reading")
  local function read(account, now_ms)
    local count = 0
    while reading.may_read(account, now_ms) do
      reading.spend(account, 4)
      count = count + 1
    end
    return count
  end
  equal({ read("7", 5000), read("7", 5999), read("8", 5999) }, { 13, 0, 13 })
  equal(read("7", 6000), 13, "a second later")
  equal(read("7", 1000), 13, "the clock was set back")
  reading.spend("8", -3600000)
  equal(read("8", 1001), 13, "it was set back while a body was read")
end)
