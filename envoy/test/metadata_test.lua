-- metadata.lua: how the filter changes header values that gRPC can't represent.

local harness = require("harness")

local test, equal, fresh = harness.test, harness.equal, harness.fresh

test("a metadata value - keeps each byte that metadata can carry, and its length", function()
  local printable = fresh("metadata").printable
  for byte = 0, 255 do
    local char = string.char(byte)
    local expected = byte == 9 and " " or (byte >= 32 and byte <= 126) and char or "?"
    equal({ printable("a" .. char .. "b") }, { "a" .. expected .. "b" }, byte)
  end
end)
