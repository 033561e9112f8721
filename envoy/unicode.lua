-- Characters in the texts of JSON: their escapes (RFC 8259, section 7), and their bytes in UTF-8 (RFC 3629).

local M = {}

-- What stands for a byte in an escape.
local ESCAPED = { b = "\b", f = "\f", n = "\n", r = "\r", t = "\t" }

local char, floor = string.char, math.floor

local function utf8(code)
  if code < 0x80 then return char(code) end
  local last, high = 0x80 + code % 0x40, floor(code / 0x40)
  if code < 0x800 then return char(0xC0 + high, last) end
  local third, higher = 0x80 + high % 0x40, floor(code / 0x1000)
  if code < 0x10000 then return char(0xE0 + higher, third, last) end
  return char(0xF0 + floor(code / 0x40000), 0x80 + higher % 0x40, third, last)
end

-- Half of a surrogate pair as three bytes, which no character has; and both halves.
local HALF = "\237[\160-\191][\128-\191]"
local PAIR = "\237[\160-\175][\128-\191]\237[\176-\191][\128-\191]"

local function joined(pair)
  local _, a, b, _, c, d = pair:byte(1, 6)
  return utf8(0x10000 + ((a - 160) * 0x40 + b - 128) * 0x400 + (c - 176) * 0x40 + d - 128)
end

-- A text of JSON without its escapes: "t\u0061gs" is "tags" too.
function M.unescaped(text)
  if not text:find("\\", 1, true) then return text end
  local plain = text:gsub("\\(.)(%x?%x?%x?%x?)", function(kind, code)
    return kind == "u" and utf8(tonumber(code, 16)) or (ESCAPED[kind] or kind) .. code
  end)
  return (plain:gsub(PAIR, joined))
end

-- Whether a text without its escapes has half of a surrogate pair.
function M.has_half(text)
  return text:find(HALF) ~= nil
end

-- How many bytes follow each first byte of a character, and the bounds of the first of them (RFC 3629, section 4).
local FOLLOWING = {}
for _, row in ipairs({
  { 0xC2, 0xDF, 1, 0x80, 0xBF },
  { 0xE0, 0xE0, 2, 0xA0, 0xBF },
  { 0xE1, 0xEC, 2, 0x80, 0xBF },
  { 0xED, 0xED, 2, 0x80, 0x9F },
  { 0xEE, 0xEF, 2, 0x80, 0xBF },
  { 0xF0, 0xF0, 3, 0x90, 0xBF },
  { 0xF1, 0xF3, 3, 0x80, 0xBF },
  { 0xF4, 0xF4, 3, 0x80, 0x8F },
}) do
  for byte = row[1], row[2] do
    FOLLOWING[byte] = { count = row[3], low = row[4], high = row[5] }
  end
end

-- The position of the first byte that is not UTF-8, or nil.
function M.find_other(text)
  local at = text:find("[\128-\255]")
  while at and at <= #text do
    local byte = text:byte(at)
    local following = FOLLOWING[byte]
    if following then
      local low, high = following.low, following.high
      for next = at + 1, at + following.count do
        local one = text:byte(next)
        if not one or one < low or one > high then return at end
        low, high = 0x80, 0xBF
      end
      at = at + following.count
    elseif byte >= 0x80 then
      return at
    end
    at = at + 1
  end
end

return M
