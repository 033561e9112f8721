-- Registers tests for run.lua, and has what they need.

local M = { tests = {} }

function M.test(title, body)
  M.tests[#M.tests + 1] = { title = title, body = body }
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

local STANDARD = {}
for name in pairs(package.loaded) do
  STANDARD[name] = true
end

-- Loads a module without the state that it and the modules behind it have, as Envoy does at its start.
function M.fresh(name)
  for module in pairs(package.loaded) do
    if not STANDARD[module] and module ~= "harness" then package.loaded[module] = nil end
  end
  return require(name)
end

return M
