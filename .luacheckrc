-- Settings of luacheck (`npm run check`). Envoy runs LuaJIT. Redis runs the scripts of the limits with Lua 5.1.
std = "luajit"
max_line_length = 120

stds.redis = { read_globals = { "redis", "KEYS", "ARGV", "cjson", "cmsgpack", "struct", "bit" } }
files["src/platform/access/limits/*.lua"] = { std = "lua51+redis" }
stds.wrk = { globals = { "wrk", "init", "delay", "request", "done" } }
files["bench/*.lua"] = { std = "luajit+wrk" }
