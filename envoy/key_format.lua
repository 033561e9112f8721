-- The format of API keys, with their checksum (src/keys/format.ts). A key of another format was never issued.

local bit = require("bit")

local M = {}

local ALPHABET = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
local CHECKSUM_LENGTH = 6

-- CRC-32 of each byte (ISO 3309, reflected).
local CRC = {}
for byte = 0, 255 do
  local crc = byte
  for _ = 1, 8 do
    crc = bit.bxor(bit.rshift(crc, 1), bit.band(crc, 1) == 1 and 0xedb88320 or 0)
  end
  CRC[byte] = crc
end

local function checksum(text)
  local crc = -1
  for i = 1, #text do
    crc = bit.bxor(bit.rshift(crc, 8), CRC[bit.band(bit.bxor(crc, text:byte(i)), 255)])
  end
  local rest, digits = bit.bnot(crc) % 4294967296, ""
  for _ = 1, CHECKSUM_LENGTH do
    local digit = rest % #ALPHABET
    digits = ALPHABET:sub(digit + 1, digit + 1) .. digits
    rest = (rest - digit) / #ALPHABET
  end
  return digits
end

function M.is_well_formed(key)
  if #key ~= 42 or not key:find("^pst_%w+$") then return false end
  return checksum(key:sub(1, -CHECKSUM_LENGTH - 1)) == key:sub(-CHECKSUM_LENGTH)
end

return M
