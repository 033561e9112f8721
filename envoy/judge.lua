-- Authenticates the caller before Envoy reads the request's body, so that only an accepted caller's body is scanned or
-- transcoded. A refused caller gets the server's error at once.
--
-- The filter doesn't ask the server about a key that the server has accepted recently. This only protects Envoy: the
-- server checks each request itself.

local edge_service = require("edge_service")
local known_keys = require("known_keys")
local request = require("request")

local M = {}

function M.on_request(handle)
  local headers = handle:headers()
  local authorization = headers:get("authorization")
  if known_keys.is_known(authorization) then return end
  -- A request without a length may have a body: HTTP/2 has no header for it, and Envoy has removed Transfer-Encoding.
  if request.is_grpc(headers:get("content-type") or "") or headers:get("content-length") == "0" then return end
  if edge_service.judge(handle) then known_keys.learn(authorization) end
end

-- Forgets a key that the server no longer accepts.
function M.on_response(handle)
  local status = handle:headers():get(":status")
  if status ~= "401" and status ~= "429" then return end
  local saved = request.saved(handle)
  if saved and saved.authorization then known_keys.forget(saved.authorization) end
end

return M
