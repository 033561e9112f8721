-- bodies.lua: how many bodies of one key may wait.

local harness = require("harness")
local settings = require("settings")

local test, equal, fresh = harness.test, harness.equal, harness.fresh

test("bodies - as many of one key may wait as the settings say, until one has arrived", function()
  local bodies = fresh("bodies")
  local period
  for _ = 1, settings.max_waiting_bodies do
    period = bodies.begin("a", 1000)
  end
  equal(bodies.begin("a", 1000), nil)
  equal(bodies.begin("b", 1000) ~= nil, true, "another key")
  bodies.finish(period, "a")
  equal(bodies.begin("a", 1000) ~= nil, true)
end)

test("bodies - one that never comes is forgotten after the time that a body may take", function()
  local bodies = fresh("bodies")
  for _ = 1, settings.max_waiting_bodies do
    bodies.begin("a", 100000)
  end
  equal(bodies.begin("a", 100000 + settings.body_timeout_ms), nil)
  equal(bodies.begin("a", 100000 + 2 * settings.body_timeout_ms) ~= nil, true)
  equal(bodies.begin("a", 1000) ~= nil, true, "the clock was set back")
end)
