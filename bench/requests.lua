-- Makes wrk send the requests of a file in turn. A line is a path, then a space, and a body if it is a POST. The
-- arguments are the file, a text that no other run has, and the mean pause of a connection before each request in ms.
local requests = {}
local sent = 0
local run

function init(args)
  run = args[2]
  for line in io.lines(args[1]) do
    local path, body = line:match("^(%S+) (.*)$")
    requests[#requests + 1] = wrk.format(body == "" and "GET" or "POST", path, nil, body ~= "" and body or nil)
  end
  local mean_ms = tonumber(args[3])
  if mean_ms > 0 then
    -- Random, so that the connections are as clients that know nothing of one another.
    delay = function()
      return -mean_ms * math.log(1 - math.random())
    end
  end
end

function request()
  sent = sent + 1
  return (requests[sent % #requests + 1]:gsub("UNIQUE", run .. sent, 1))
end

-- The last line of the output, as JSON.
function done(summary, latency)
  local errors = summary.errors
  local lost = errors.connect + errors.read + errors.write + errors.timeout
  local form = '{"count":%d,"seconds":%f,"p50Ms":%f,"p99Ms":%f,"failed":%d,"lost":%d}'
  local p50_ms, p99_ms = latency:percentile(50) / 1e3, latency:percentile(99) / 1e3
  print(form:format(summary.requests, summary.duration / 1e6, p50_ms, p99_ms, errors.status, lost))
end
