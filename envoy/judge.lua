-- Has the server judge who is calling before the body of a request is read. Nothing of a body is scanned or transcoded
-- for a caller whom the server has not accepted; a caller whom it refuses is answered at once.
--
-- For a key that the server has accepted lately it is not asked again. The server judges the request itself in any
-- case: this only keeps bodies away from Envoy.

local questions = require("questions")
local request = require("request")
local strangers = require("strangers")

local M = {}

-- The Authorization headers that the server has accepted, as this worker thread knows. When there are too many, all go.
local MAX_ACCEPTED = 10000
local accepted, accepted_count = {}, 0

local function accept(authorization)
  if accepted[authorization] then return end -- by another request, meanwhile
  if accepted_count >= MAX_ACCEPTED then accepted, accepted_count = {}, 0 end
  accepted[authorization] = true
  accepted_count = accepted_count + 1
end

local function forget(authorization)
  if not accepted[authorization] then return end
  accepted[authorization] = nil
  accepted_count = accepted_count - 1
end

function M.on_request(handle)
  local headers = handle:headers()
  local authorization = headers:get("authorization")
  if authorization and accepted[authorization] then return end
  -- Without a length there may be a body: over HTTP/2 no header says so, and Envoy has taken Transfer-Encoding away.
  if request.is_grpc(headers:get("content-type") or "") or headers:get("content-length") == "0" then return end
  if questions.judge(handle) then accept(authorization) end
end

-- A key that the server no longer accepts is asked about again.
function M.on_response(handle)
  local headers = handle:headers()
  strangers.learn(handle, headers)
  if accepted_count == 0 then return end
  local status = headers:get(":status")
  if status ~= "401" and status ~= "429" then return end
  local kept = request.kept(handle)
  if kept then forget(kept.authorization) end
end

return M
