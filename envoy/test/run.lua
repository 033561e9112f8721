-- Runs test files in the repository's folder: `luajit envoy/test/run.lua envoy/test/*_test.lua`. Prints TAP
-- (https://testanything.org).

package.path = "envoy/?.lua;envoy/test/?.lua"

local harness = require("harness")

for _, file in ipairs(arg) do
  dofile(file)
end

local failed = 0
print(("1..%d"):format(#harness.tests))
for number, test in ipairs(harness.tests) do
  local is_fine, problem = xpcall(test.body, debug.traceback)
  print(("%s %d - %s"):format(is_fine and "ok" or "not ok", number, test.title))
  if not is_fine then
    failed = failed + 1
    print((tostring(problem):gsub("[^\n]+", "# %0")))
  end
end
os.exit(failed == 0 and 0 or 1)
