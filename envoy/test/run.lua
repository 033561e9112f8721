-- Runs test files in the repository's folder: `luajit envoy/test/run.lua envoy/test/*_test.lua`. Prints TAP
-- (https://testanything.org). The files require it as `harness`.

package.path = "envoy/?.lua"

local M = {}
local STANDARD = {}
package.loaded.harness = M
for name in pairs(package.loaded) do
  STANDARD[name] = true
end

local count, failed = 0, 0

function M.test(title, body)
  local is_fine, problem = xpcall(body, debug.traceback)
  count = count + 1
  print(("%s %d - %s"):format(is_fine and "ok" or "not ok", count, title))
  if is_fine then return end
  failed = failed + 1
  print((tostring(problem):gsub("[^\n]+", "# %0")))
end

local function show(value)
  if type(value) ~= "table" then return type(value) == "string" and ("%q"):format(value) or tostring(value) end
  local parts = {}
  for key, item in pairs(value) do
    parts[#parts + 1] = ("[%s] = %s"):format(show(key), show(item))
  end
  table.sort(parts)
  return "{ " .. table.concat(parts, ", ") .. " }"
end

-- Compares tables by their contents.
function M.equal(actual, expected, about)
  if show(actual) == show(expected) then return end
  local prefix = about and about .. ": " or ""
  error(("%sexpected %s, got %s"):format(prefix, show(expected), show(actual)), 2)
end

-- Loads a module without the state that it and the modules behind it have, as Envoy does at its start.
function M.fresh(name)
  for module in pairs(package.loaded) do
    if not STANDARD[module] then package.loaded[module] = nil end
  end
  return require(name)
end

for _, file in ipairs(arg) do
  dofile(file)
end
print(("1..%d"):format(count))
os.exit(failed == 0 and 0 or 1)
