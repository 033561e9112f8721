-- For luacheck, as `npm run check` runs it. Envoy's Lua is LuaJIT; the script of the limits runs in Redis, on Lua 5.1.
std = "luajit"
max_line_length = 120

stds.redis = { read_globals = { "redis", "KEYS", "ARGV", "cjson", "cmsgpack", "struct", "bit" } }
files["src/limits/redis.lua"] = { std = "lua51+redis" }

-- Generated: a line is as long as the text in it.
files["gen/edge/tables.lua"] = { max_line_length = false }
