-- bodies.lua: how many bodies of one key may wait.

local harness = require("harness")
local settings = require("settings")

local test, equal, fresh = harness.test, harness.equal, harness.fresh

test("bodies - as many of one key may wait as the settings say, until one has arrived or could have", function()
  local bodies = fresh("bodies")
  local function fill(now_ms)
    local period
    for _ = 1, settings.max_waiting_bodies do
      period = bodies.begin("a", now_ms)
    end
    return period
  end
  local period = fill(100000)
  equal(bodies.begin("a", 100000 + settings.body_timeout_ms - 1), nil)
  equal(bodies.begin("b", 100000) ~= nil, true, "another key")
  bodies.finish(period, "a")
  equal(bodies.begin("a", 100000) ~= nil, true)
  equal(bodies.begin("a", 100000), nil)
  equal(fill(100000 + settings.body_timeout_ms) ~= nil, true)
  equal(bodies.begin("a", 1000) ~= nil, true, "the clock was set back")
end)
