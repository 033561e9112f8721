-- Lists in JSON bodies, where the transcoder bends what it should refuse: it takes "a" and [["a"]] for ["a"], drops a
-- null, and joins the lists of a name that is given twice. `settings.bodies` has the requests with lists, which
-- lists.ts makes from the proto files. What is not JSON is left to the transcoder.
--
-- A list that may be absent is a message with `values` alone. Here an array becomes such a message.

local settings = require("settings")

local M = {}

-- How much of a wrong value is quoted.
local MAX_VALUE = 200

-- What is wrong with the value from `start` to before `stop`, in the form of the transcoder's errors.
local function refusal(json, path, start, stop, type)
  return ("%s: invalid value %s for type %s"):format(
    path,
    json.text:sub(start, math.min(stop, start + MAX_VALUE) - 1),
    type
  )
end

-- The position after the value that begins at `at`. Nil if there is none.
local function after(json, at)
  local plain = json.plain
  return plain:match('^"_*"()', at)
    or plain:match("^%b{}()", at)
    or plain:match("^%b[]()", at)
    or plain:match("^[^%s,%]}]+()", at)
end

local check_object

local function check_list(json, field, path, start, stop)
  if json.plain:sub(start, start) ~= "[" then return refusal(json, path, start, stop, "LIST") end
  local index, at = 0, json.plain:match("^%[%s*()", start)
  local item_stop = after(json, at)
  while item_stop do
    local first = json.plain:sub(at, at)
    local item_path = ("%s[%d]"):format(path, index)
    local is_null = json.text:sub(at, item_stop - 1) == "null"
    local is_object = first == "{"
    if is_null or first == "[" or is_object ~= (field.has_objects or false) then
      return refusal(json, item_path, at, item_stop, "ITEM")
    end
    local wrong = field.fields and check_object(json, field.fields, item_path .. ".", at)
    if wrong then return wrong end
    at = json.plain:match("^%s*,%s*()", item_stop)
    index, item_stop = index + 1, at and after(json, at)
  end
end

local function check_field(json, field, path, start, stop)
  if not field.is_list then
    return json.plain:sub(start, start) == "{" and check_object(json, field.fields, path .. ".", start)
  end
  if field.is_wrapped then table.insert(json.insertions, { at = start, text = '{"values":' }) end
  local wrong = check_list(json, field, path, start, stop)
  if field.is_wrapped then table.insert(json.insertions, { at = stop, text = "}" }) end
  return wrong
end

-- Checks the fields of the object that begins at `start`. Returns what is wrong, or nil.
function check_object(json, fields, prefix, start)
  local seen, at = {}, json.plain:match("^{%s*()", start)
  while at do
    local key_stop, value = json.plain:match('^"_*"()%s*:%s*()', at)
    local stop = value and after(json, value)
    if not stop then return nil end
    local key = json.text:sub(at, key_stop - 1):gsub("\\u00(%x%x)", function(code)
      return string.char(tonumber(code, 16))
    end)
    local field = fields[key]
    if field and json.text:sub(value, stop - 1) ~= "null" then
      local path = prefix .. field.name
      if seen[path] then return refusal(json, path, value, stop, "ONCE") end
      seen[path] = true
      local wrong = check_field(json, field, path, value, stop)
      if wrong then return wrong end
    end
    at = json.plain:match("^%s*,%s*()", stop)
  end
end

local function fields_of(method, path)
  local route = method
    .. " "
    .. path:gsub("?.*", ""):gsub("%%(%x%x)", function(code)
      return string.char(tonumber(code, 16))
    end)
  for pattern, body in pairs(settings.bodies) do
    if route:find(pattern) then return body.fields, body.prefix end
  end
end

-- Checks the lists of a body. Returns what is wrong, or nil; and the body for the transcoder.
function M.check(method, path, text)
  local fields, prefix = fields_of(method, path)
  if not fields then return nil, text end
  local plain = text:gsub("\\.", "__"):gsub('"[^"]*"', function(content)
    return '"' .. ("_"):rep(#content - 2) .. '"'
  end)
  local json = { text = text, plain = plain, insertions = {} } -- `plain` has the same positions, without texts
  local wrong = check_object(json, fields, prefix, plain:match("^%s*()"))
  local parts, from = {}, 1
  for _, insertion in ipairs(json.insertions) do
    table.insert(parts, text:sub(from, insertion.at - 1) .. insertion.text)
    from = insertion.at
  end
  return wrong, table.concat(parts) .. text:sub(from)
end

return M
