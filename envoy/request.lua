-- What the filters keep of a request for the response to it.

local M = {}

-- In the stream's dynamic metadata.
local NAMESPACE = "petstore.rest"

function M.save_content_type(handle, content_type)
  handle:streamInfo():dynamicMetadata():set(NAMESPACE, "content_type", content_type)
end

-- Returns what was saved, or nil if the request had no body.
function M.content_type(handle)
  local metadata = handle:streamInfo():dynamicMetadata():get(NAMESPACE)
  return metadata and metadata.content_type
end

return M
