-- Has the server judge who is calling before the body of a request is read. Nothing of a body is scanned or transcoded
-- for a caller whom the server has not accepted; a caller whom it refuses is answered at once.
--
-- For a key that the server has accepted lately it is not asked again. The server judges the request itself in any
-- case: this only keeps bodies away from Envoy.

local known_keys = require("known_keys")
local questions = require("questions")
local request = require("request")

local M = {}

function M.on_request(handle)
  local headers = handle:headers()
  local authorization = headers:get("authorization")
  if known_keys.is_known(authorization) then return end
  -- Without a length there may be a body: over HTTP/2 no header says so, and Envoy has taken Transfer-Encoding away.
  if request.is_grpc(headers:get("content-type") or "") or headers:get("content-length") == "0" then return end
  if questions.judge(handle) then known_keys.learn(authorization) end
end

-- A key that the server no longer accepts is asked about again.
function M.on_response(handle)
  local status = handle:headers():get(":status")
  if status ~= "401" and status ~= "429" then return end
  local kept = request.kept(handle)
  if kept and kept.authorization then known_keys.forget(kept.authorization) end
end

return M
