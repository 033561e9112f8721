-- Settings of luacheck (`npm run check`). Envoy runs LuaJIT. Redis runs the limits' script with Lua 5.1.
std = "luajit"
max_line_length = 120

stds.redis = { read_globals = { "redis", "KEYS", "ARGV", "cjson", "cmsgpack", "struct", "bit" } }
files["src/limits/redis.lua"] = { std = "lua51+redis" }
