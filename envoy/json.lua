-- Reads a JSON body (RFC 8259) before the transcoder, which bends what it should refuse: it accepts what is no JSON,
-- takes "a" and [["a"]] for ["a"], {} for 1970, "yes" for true, drops a null and the first of two members, and rounds
-- numbers and times. And it refuses JSON: 1e999, half of a surrogate pair, an empty name.
-- `settings.bodies` has the fields of each request's body, which config/json.ts makes from the proto files.
--
-- What the transcoder gets: a list that may be absent as a message of `values` alone, a whole number in any notation as
-- its digits, and in the place of a member that is no field `"_":0`. So what is ignored is JSON, and no more is asked
-- of it.
--
-- The server words what is refused here (src/platform/edge/edge-service.ts): it gets a finding of edge.proto, and its
-- place.

local settings = require("settings")
local unicode = require("unicode")

local byte = string.byte

local M = {}

-- How much of a wrong value is quoted.
local MAX_VALUE = 200
-- Bytes of JSON. The first 32 are control characters.
local SPACE, QUOTE, BACKSLASH, COMMA, COLON, POINT = 32, 34, 92, 44, 58, 46
local PLUS, MINUS, ZERO, NINE = 43, 45, 48, 57
local CLOSING_BRACE, CLOSING_BRACKET = 125, 93
local CLOSING = { [123] = CLOSING_BRACE, [91] = CLOSING_BRACKET }
local LOWER_E, UPPER_E = 101, 69
-- From here on a pattern is faster than a loop over bytes.
local LONG = 16

-- Ends the reading by a finding: at a byte, or of the value of a field.
local function found(name, at, value)
  local finding = assert(settings.findings[name], "edge.proto has no finding " .. name)
  error({ finding = finding, at = at, value = (value or ""):sub(1, MAX_VALUE) }, 0)
end

-- The text is no JSON from here on.
local function malformed(at)
  found("NO_JSON", at)
end

-- The position of the next byte that is no space, and that byte.
local function after_space(text, at)
  local one = byte(text, at)
  while one == 32 or one == 10 or one == 13 or one == 9 do
    at = at + 1
    one = byte(text, at)
  end
  return at, one
end

-- The position after the text that begins at `at`. A pattern is faster for a long one, and slower for a short one.
local function after_text(text, at)
  local stop, long = at + 1, at + LONG
  while true do
    local one = byte(text, stop)
    if one == QUOTE then return stop + 1 end
    if one == BACKSLASH then
      stop = text:match('^\\["\\/bfnrt]()', stop) or text:match("^\\u%x%x%x%x()", stop) or malformed(stop)
    elseif not one or one < SPACE then
      return malformed(stop)
    else
      stop = stop > long and text:match('^[^"\\%z\1-\31]+()', stop) or stop + 1
    end
  end
end

-- The position after the digits from `at` on, and the byte there.
local function after_digits(text, at)
  local long, one = at + LONG, byte(text, at)
  while one and one >= ZERO and one <= NINE do
    at = at > long and text:match("^%d+()", at) or at + 1
    one = byte(text, at)
  end
  return at, one
end

-- The position after the number that begins at `at`, or nil.
local function after_number(text, at)
  local one = byte(text, at)
  local first = one == MINUS and at + 1 or at
  local stop, last = after_digits(text, first)
  if stop == first or stop > first + 1 and byte(text, first) == ZERO then return nil end
  if last == POINT then
    local fraction, behind = after_digits(text, stop + 1)
    if fraction > stop + 1 then
      stop, last = fraction, behind
    end
  end
  if last ~= LOWER_E and last ~= UPPER_E then return stop end
  local sign = byte(text, stop + 1)
  local digits = stop + ((sign == PLUS or sign == MINUS) and 2 or 1)
  local exponent = after_digits(text, digits)
  return exponent > digits and exponent or stop
end

-- The position after a value that is neither an object nor a list.
local function after_plain(text, at, one)
  if one == QUOTE then return after_text(text, at) end
  return after_number(text, at)
    or text:match("^true()", at)
    or text:match("^false()", at)
    or text:match("^null()", at)
    or malformed(at)
end

-- The names of an object with one more: false, the only name, or a table of them.
local function with_name(names, name)
  if not names then return name end
  if type(names) == "string" then names = { [names] = true } end
  if names[name] then found("GIVEN_TWICE", "", name) end
  names[name] = true
  return names
end

-- Reads a value of any type that nobody uses. Returns the position after it. In 64 KB there may be 32,000 values, so
-- this is a loop over bytes, without a pattern, a table or a function for each, but for names to be given once.
local function read_any(json, at)
  local text, closing, names, depth = json.text, {}, {}, 0
  local one = byte(text, at)
  while true do
    local is_open = CLOSING[one] ~= nil
    if is_open then
      depth = depth + 1
      if json.depth + depth > settings.max_depth then return found("TOO_DEEP", at) end
      closing[depth], names[depth] = CLOSING[one], false
      at, one = after_space(text, at + 1)
    else
      at = after_plain(text, at, one)
      if depth == 0 then return at end
      at, one = after_space(text, at)
    end
    while one == closing[depth] do
      depth, is_open = depth - 1, false
      if depth == 0 then return at + 1 end
      at, one = after_space(text, at + 1)
    end
    if not is_open then
      if one ~= COMMA then return malformed(at) end
      at, one = after_space(text, at + 1)
    end
    if closing[depth] == CLOSING_BRACE then
      if one ~= QUOTE then return malformed(at) end
      local start = at
      at = after_text(text, start)
      if json.body then names[depth] = with_name(names[depth], unicode.unescaped(text:sub(start, at - 1))) end
      at, one = after_space(text, at)
      if one ~= COLON then return malformed(at) end
      at, one = after_space(text, at + 1)
    end
  end
end

-- Ends the reading: the value that begins at `at` is wrong.
local function refuse(json, path, at, finding)
  found(finding, path, json.text:sub(at, read_any(json, at) - 1))
end

local function edit(json, from, stop, text)
  local one = { from = from, stop = stop, text = text }
  table.insert(json.edits, one)
  return one
end

-- The digits of a whole number of int64 in any notation. Otherwise nil, and the finding.
local function whole(number)
  if after_number(number, 1) ~= #number + 1 then return nil, "OTHER_TYPE" end
  local sign, int, stop = number:match("^(%-?)(%d+)()")
  local fraction, exponent = number:match("^%.(%d+)", stop) or "", number:match("[eE]([+-]?%d+)$")
  local digits, shift = (int .. fraction):gsub("^0+", ""), (tonumber(exponent) or 0) - #fraction
  if digits == "" then return "0" end
  if shift < 0 then
    if -shift >= #digits or digits:find("[^0]", shift) then return nil, "OTHER_TYPE" end
    digits = digits:sub(1, shift - 1)
  else
    digits = digits .. ("0"):rep(math.min(shift, 20))
  end
  local largest = sign == "-" and "9223372036854775808" or "9223372036854775807"
  if #digits > 19 or #digits == 19 and digits > largest then return nil, "OUT_OF_RANGE" end
  return sign .. digits
end

local function int32(number)
  local digits, finding = whole(number)
  if digits and math.abs(tonumber(digits) + 0.5) > 2 ^ 31 then return nil, "OUT_OF_RANGE" end
  return digits, finding
end

local DAYS = { 31, 29, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31 }

-- Whether there is such a second.
local function is_second(time)
  local year, month, day, hour, minute, second = time:match("^(%d+)%-(%d+)%-(%d+)T(%d+):(%d+):(%d+)$")
  year, month, day = tonumber(year), tonumber(month), tonumber(day)
  local is_leap = year % 4 == 0 and (year % 100 ~= 0 or year % 400 == 0)
  if year < 1 or day < 1 or day > (DAYS[month] or 0) or (month == 2 and day == 29 and not is_leap) then return false end
  return tonumber(hour) < 24 and tonumber(minute) < 60 and tonumber(second) < 60
end

-- How many minutes a zone is ahead of UTC; nil for what is none.
local function offset_of(zone)
  if zone == "Z" then return 0 end
  local sign, hours, minutes = zone:match("^([+-])(%d%d):(%d%d)$")
  if not sign or tonumber(hours) > 23 or tonumber(minutes) > 59 then return nil end
  return tonumber(sign .. hours) * 60 + tonumber(sign .. minutes)
end

-- Whether a second is within the years 1 to 9999 of UTC, which are all that a Timestamp has.
local function is_in_range(time, offset)
  local day, hour, minute = time:match("^(.*)T(%d+):(%d+)")
  local minutes = tonumber(hour) * 60 + tonumber(minute) - offset
  return (day ~= "0001-01-01" or minutes >= 0) and (day ~= "9999-12-31" or minutes < 24 * 60)
end

-- A timestamp of RFC 3339, which allows lower case, in upper case, to the nanosecond. Otherwise nil, and perhaps why.
local function timestamp(text)
  local upper = text:upper()
  local time, rest = upper:match("^(%d%d%d%d%-%d%d%-%d%dT%d%d:%d%d:%d%d)(.*)$")
  if not time or not is_second(time) then return nil end
  local fraction, zone = rest:match("^%.(%d+)(.*)$")
  zone = zone or rest
  local offset = offset_of(zone)
  if not offset then return nil end
  if not is_in_range(time, offset) then return nil, "OUT_OF_RANGE" end
  if not fraction or #fraction <= 9 then return upper end
  if fraction:find("[^0]", 10) then return nil, "TOO_FINE" end
  return time .. "." .. fraction:sub(1, 9) .. zone
end

local function flag()
  return true
end

local function characters(text)
  if unicode.has_half(text) then return nil, "HALF_PAIR" end
  return true
end

-- Names alone: the transcoder takes numbers too, also in a text.
local function enum_name(text, field)
  return field.names['"' .. text .. '"']
end

-- What a field of each type takes, by the sort of value: a text, without its escapes; a number; true and false. What
-- returns a text has it written in the place of the value. Objects and lists are read by read_item and read_list.
local READERS = {
  whole = { text = whole, number = whole },
  int32 = { text = int32, number = int32 },
  time = { text = timestamp },
  string = { text = characters },
  enum = { text = enum_name },
  bool = { flag = flag },
}
local SORTS = { ['"'] = "text", ["{"] = "object", ["["] = "list", t = "flag", f = "flag", n = "null" }

local read_object, read_list

-- Reads a value of this field that is no list.
local function read_item(json, at, field, path)
  local text = json.text
  local sort = SORTS[text:sub(at, at)] or "number"
  if field.type == "object" and sort == "object" then
    return read_object(json, at, field.fields, path == "" and "" or path .. ".")
  end
  local read = READERS[field.type] and READERS[field.type][sort]
  if not read then return refuse(json, path, at, "OTHER_TYPE") end
  local stop = read_any(json, at)
  local is_text = sort == "text"
  local value = is_text and text:sub(at + 1, stop - 2) or text:sub(at, stop - 1)
  local plain, finding = read(is_text and unicode.unescaped(value) or value, field)
  if not plain then return refuse(json, path, at, finding or "OTHER_TYPE") end
  if plain ~= true and plain ~= value then edit(json, at, stop, '"' .. plain .. '"') end
  return stop
end

local function read_field(json, at, field, path)
  if json.text:find("^null", at) then return at + 4 end
  if not field.is_list then return read_item(json, at, field, path) end
  if json.text:sub(at, at) ~= "[" then return refuse(json, path, at, "NO_LIST") end
  if field.is_wrapped then edit(json, at, at, '{"values":') end
  local stop = read_list(json, at, field, path)
  if field.is_wrapped then edit(json, stop, stop, "}") end
  return stop
end

-- Reads what is between brackets: `read(at)` reads one item. Returns the position after it.
local function read_items(json, at, close, read)
  local text = json.text
  json.depth = json.depth + 1
  if json.depth > settings.max_depth then return found("TOO_DEEP", at) end
  local one
  at, one = after_space(text, at + 1)
  while one ~= close do
    at, one = after_space(text, read(at))
    if one == COMMA then
      at = after_space(text, at + 1)
    elseif one ~= close then
      return malformed(at)
    end
  end
  json.depth = json.depth - 1
  return at + 1
end

function read_list(json, at, field, path)
  local index = -1
  return read_items(json, at, CLOSING_BRACKET, function(item)
    index = index + 1
    return read_item(json, item, field, ("%s[%d]"):format(path, index))
  end)
end

function read_object(json, at, fields, prefix)
  local text, seen = json.text, {}
  local ignored -- the edit of the members before this one, if none of them is a field
  return read_items(json, at, CLOSING_BRACE, function(start)
    if byte(text, start) ~= QUOTE then return malformed(start) end
    local stop = after_text(text, start)
    local key = unicode.unescaped(text:sub(start, stop - 1))
    local field = fields[key]
    local name = field and field.name or key
    if seen[name] then return found("GIVEN_TWICE", field and prefix .. name or "", key) end
    seen[name] = true
    local value, colon = after_space(text, stop)
    if colon ~= COLON then return malformed(value) end
    value = after_space(text, value + 1)
    if field then
      ignored = nil
      return read_field(json, value, field, prefix .. name)
    end
    local last = read_any(json, value)
    ignored = ignored or edit(json, start, last, '"_":0')
    ignored.stop = last
    return last
  end)
end

local function read_body(json)
  local text = json.text
  if text:find("^\239\187\191") then found("BYTE_ORDER_MARK", 1) end
  local start = after_space(text, 1)
  local stop = json.body and read_item(json, start, json.body, json.body.name) or read_any(json, start)
  local last = after_space(text, stop)
  if last <= #text then malformed(last) end
  local other = unicode.find_other(text)
  if other then found("NO_UTF8", other) end
end

-- The fields of the request's body; nil if it has none.
local function body_of(method, path)
  local name = path:match("^[^?]*")
  for _, body in ipairs(settings.bodies[method] or {}) do
    if name:find(body.path) then return body end
  end
end

-- Reads a body. Returns the finding, or nil; and the body for the transcoder, which is none if the request has no
-- fields in it: the transcoder would read some nevertheless.
function M.read(method, path, text)
  local json = { text = text, edits = {}, depth = 0, body = body_of(method, path) }
  local is_read, failure = pcall(read_body, json)
  if not is_read then return failure.finding and failure or error(failure, 0) end
  if not json.body then return nil, "" end
  local parts, from = {}, 1
  for _, one in ipairs(json.edits) do
    table.insert(parts, text:sub(from, one.from - 1) .. one.text)
    from = one.stop
  end
  return nil, table.concat(parts) .. text:sub(from)
end

return M
