-- Lists and timestamps in JSON bodies, where the transcoder bends what it should refuse: it takes "a" and [["a"]] for
-- ["a"], drops a null, and takes {} for 1970. `settings.bodies` has the requests with lists or timestamps, which
-- lists.ts makes from the proto files. What is not JSON is left to the transcoder.
--
-- A list that may be absent is a message with `values` alone. Here an array becomes such a message.

local settings = require("settings")

local M = {}

-- How much of a wrong value is quoted.
local MAX_VALUE = 200

-- The position after the value that begins at `at`. Nil if there is none.
local function after(json, at)
  local plain = json.plain
  return plain:match('^"_*"()', at)
    or plain:match("^%b{}()", at)
    or plain:match("^%b[]()", at)
    or plain:match("^[^%s,%]}]+()", at)
end

-- What is wrong with the value that begins at `at`, in the form of the transcoder's errors.
local function refusal(json, path, at, type)
  local value = json.text:sub(at, math.min(after(json, at), at + MAX_VALUE) - 1)
  return ("%s: invalid value %s for type %s"):format(path, value, type)
end

-- A key without its escapes: "t\u0061gs" is "tags" too.
local function unescaped(key)
  return (key:gsub("\\u00(%x%x)", function(code)
    return string.char(tonumber(code, 16))
  end))
end

local check_object

local function check_list(json, field, path, start)
  local at, index = json.plain:match("^%[%s*()", start), 0
  if not at then return refusal(json, path, start, "LIST") end
  local stop = after(json, at)
  while stop do
    local first, item_path = json.plain:sub(at, at), ("%s[%d]"):format(path, index)
    if first == "[" or json.text:sub(at, stop - 1) == "null" or (first == "{") ~= field.has_objects then
      return refusal(json, item_path, at, "ITEM")
    end
    local wrong = field.fields and check_object(json, field.fields, item_path .. ".", at)
    if wrong then return wrong end
    at = json.plain:match("^%s*,%s*()", stop)
    index, stop = index + 1, at and after(json, at)
  end
end

-- Checks the fields of the object that begins at `start`, if it is one. Returns what is wrong, or nil.
function check_object(json, fields, prefix, start)
  local at = json.plain:match("^{%s*()", start)
  while at do
    local key_stop, value = json.plain:match('^"_*"()%s*:%s*()', at)
    local stop = value and after(json, value)
    if not stop then return nil end
    local field = fields[unescaped(json.text:sub(at, key_stop - 1))]
    if field and json.text:sub(value, stop - 1) ~= "null" then
      if field.is_wrapped then table.insert(json.insertions, { at = value, text = '{"values":' }) end
      local wrong
      if field.is_text then
        wrong = json.plain:find("^{", value) and refusal(json, prefix .. field.name, value, "TEXT")
      elseif field.is_list then
        wrong = check_list(json, field, prefix .. field.name, value)
      else
        wrong = check_object(json, field.fields, prefix .. field.name .. ".", value)
      end
      if wrong then return wrong end
      if field.is_wrapped then table.insert(json.insertions, { at = stop, text = "}" }) end
    end
    at = json.plain:match("^%s*,%s*()", stop)
  end
end

-- Checks the lists and timestamps of a body. Returns what is wrong, or nil; and the body for the transcoder.
function M.check(method, path, text)
  if not next(settings.bodies) then return nil, text end
  local route = method .. " " .. path:match("^[^?]*")
  for pattern, body in pairs(settings.bodies) do
    if route:find(pattern) then
      -- `plain` has the same positions, without texts.
      local plain = text:gsub("\\.", "__"):gsub('"[^"]*"', function(content)
        return '"' .. ("_"):rep(#content - 2) .. '"'
      end)
      local json = { text = text, plain = plain, insertions = {} }
      local wrong = check_object(json, body.fields, body.prefix, plain:match("^%s*()"))
      local parts, from = {}, 1
      for _, insertion in ipairs(json.insertions) do
        table.insert(parts, text:sub(from, insertion.at - 1) .. insertion.text)
        from = insertion.at
      end
      return wrong, table.concat(parts) .. text:sub(from)
    end
  end
  return nil, text
end

return M
