-- judge.lua: who is asked about, when, and what a refused caller gets.

local envoy = require("fake_envoy")
local harness = require("harness")
local tables = require("tables")

local test, equal, fresh = harness.test, harness.equal, harness.fresh
local HEADERS = tables.headers

local REFUSED = '{"code":"API_KEY_INVALID","message":"the API key is not valid","status":401}'
local SLOTS = 10000

-- An empty message in gRPC.
local function accepts()
  return { [":status"] = "200", ["content-type"] = "application/grpc" }, "\0\0\0\0\0"
end

local function refuses()
  return {
    [":status"] = "401",
    ["content-type"] = "application/json",
    ["content-length"] = tostring(#REFUSED),
    date = "now",
    server = "petstore",
    ["x-envoy-upstream-service-time"] = "1",
    ["www-authenticate"] = "Bearer",
    [HEADERS.code] = "API_KEY_INVALID",
    [HEADERS.grpc_status] = "16",
  },
    REFUSED
end

-- A POST with a body, of the caller with this key. `changes` are headers that differ; false: not sent.
local function post(key, changes)
  local headers = {
    [":method"] = "POST",
    [":path"] = "/pets",
    ["content-type"] = "application/json",
    ["content-length"] = "2",
    ["x-forwarded-for"] = "10.0.0.1",
    ["x-request-id"] = "id-1",
    authorization = key and "Bearer " .. key,
  }
  for name, value in pairs(changes or {}) do
    headers[name] = value or nil
  end
  return headers
end

local function send(judge, headers, server, protocol)
  return envoy.request(judge.on_request, { headers = headers, body = "{}", server = server, protocol = protocol })
end

-- How often the server is asked about a request.
local function questions_for(judge, headers, protocol)
  return #send(judge, headers, accepts, protocol).calls
end

-- The answer to a request that had a body, on its way back.
local function answer(judge, status, key)
  local kept = key and { ["petstore.rest"] = { request = { authorization = "Bearer " .. key } } }
  return envoy.answer(judge.on_response, { headers = { [":status"] = status }, metadata = kept, body = "{}" })
end

test("judge - asks the server by the caller's headers alone, and lets an accepted caller go on", function()
  local pass = send(fresh("judge"), post("a"), accepts)
  equal(#pass.calls, 1)
  equal(pass.calls[1].cluster, "petstore_strangers")
  equal(pass.calls[1].message, "\0\0\0\0\0")
  equal(pass.calls[1].headers, {
    [":method"] = "POST",
    [":path"] = "/petstore.edge.v1.EdgeService/Judge",
    [":authority"] = "petstore",
    ["content-type"] = "application/grpc",
    te = "trailers",
    authorization = "Bearer a",
    ["x-forwarded-for"] = "10.0.0.1",
    ["x-request-id"] = "id-1",
    ["x-envoy-retry-on"] = tables.retries.on,
    ["x-envoy-max-retries"] = tostring(tables.retries.times),
  })
  equal(pass.calls[1].options, { timeout_ms = tables.call_timeout_ms, send_xff = false })
  equal(pass.reply, nil)
end)

test("judge - asks before anything of the body has been read", function()
  local pass = envoy.request(fresh("judge").on_request, { headers = post("a"), body = "{}" })
  equal(#pass.calls, 1)
  equal(pass.waits, 1)
end)

test("judge - does not ask again about a key that was accepted", function()
  local judge = fresh("judge")
  equal(questions_for(judge, post("a")), 1)
  equal(questions_for(judge, post("a")), 0)
  equal(questions_for(judge, post("a", { [":method"] = "PUT", [":path"] = "/pets/7" })), 0)
  equal(questions_for(judge, post("b")), 1, "another key")
end)

test("judge - asks about a key that was refused each time", function()
  local judge = fresh("judge")
  equal(#send(judge, post("a"), refuses).calls, 1)
  equal(#send(judge, post("a"), refuses).calls, 1)
end)

test("judge - a refused caller gets the server's error at once, of what is the transport's its status alone", function()
  local pass = send(fresh("judge"), post("a"), refuses)
  equal(pass.reply.headers, {
    [":status"] = "401",
    ["www-authenticate"] = "Bearer",
    [HEADERS.worded] = "1",
    [HEADERS.code] = "API_KEY_INVALID",
    [HEADERS.grpc_status] = "16",
  })
  equal(pass.reply.body, REFUSED)
end)

test("judge - a refused caller gets the status that the server gives, whatever the words of the error say", function()
  local error = '{"code":"X","message":"he said {\\"status\\":200}","status":400}'
  for _, status in ipairs({ "401", "403", "429", "500", "503" }) do
    local pass = send(fresh("judge"), post("a"), function()
      return { [":status"] = status, ["content-type"] = "application/json" }, error
    end)
    equal({ pass.reply.headers[":status"], pass.reply.body }, { status, error })
  end
end)

test("judge - a caller without a key is asked about like any other", function()
  local pass = send(fresh("judge"), post(nil), refuses)
  equal(pass.calls[1].headers.authorization, nil)
  equal(pass.reply.headers[":status"], "401")
end)

test("judge - when nobody answers it is 503 with Retry-After", function()
  local words = { -- Envoy's own, for a server that it can't reach
    { [":status"] = "200", ["grpc-status"] = "14", ["grpc-message"] = "no healthy upstream" },
    { [":status"] = "503" },
    { [":status"] = "503", ["content-length"] = "16", ["content-type"] = "text/plain" },
  }
  for i, word in ipairs(words) do
    local judge = fresh("judge")
    local pass = send(judge, post("a"), function()
      return word, i > 1 and "upstream failure" or nil
    end)
    equal(pass.reply.headers, {
      [":status"] = "503",
      ["retry-after"] = "1",
      [HEADERS.worded] = "1",
      [HEADERS.code] = "UNAVAILABLE",
      [HEADERS.grpc_status] = "14",
    })
    equal(pass.reply.body, tables.unavailable)
    equal(questions_for(judge, post("a")), 1, "is not taken for accepted")
  end
end)

test("judge - an answer that comes too late is 504", function()
  for late_by, status in pairs({ [-200] = "503", [-1] = "504", [0] = "504", [1] = "504" }) do
    local pass = send(fresh("judge"), post("a"), function(_, pass)
      pass.now_ms = pass.now_ms + tables.call_timeout_ms + late_by
      return { [":status"] = "200", ["grpc-status"] = "4" }
    end)
    local headers, is_late = pass.reply.headers, status == "504"
    equal(headers[":status"], status, "late by " .. late_by)
    equal(pass.reply.body, is_late and tables.deadline_exceeded or tables.unavailable)
    equal(headers[HEADERS.code], is_late and "DEADLINE_EXCEEDED" or "UNAVAILABLE")
    equal({ headers[HEADERS.grpc_status], headers[HEADERS.worded] }, { is_late and "4" or "14", "1" })
    equal({ later = headers["retry-after"] }, { later = not is_late and "1" or nil })
  end
end)

test("judge - no body, no question", function()
  for _, protocol in ipairs({ "HTTP/1.0", "HTTP/1.1", "HTTP/2" }) do
    equal(questions_for(fresh("judge"), post("a", { ["content-length"] = "0" }), protocol), 0)
  end
end)

test("judge - a body is expected with a length, and without one", function()
  for _, protocol in ipairs({ "HTTP/1.0", "HTTP/1.1", "HTTP/2" }) do
    equal(questions_for(fresh("judge"), post("a"), protocol), 1)
    equal(questions_for(fresh("judge"), post("a", { ["content-length"] = false }), protocol), 1)
  end
end)

test("judge - gRPC and gRPC-Web pass untouched", function()
  local types = {
    "application/grpc",
    "application/grpc+proto",
    "application/grpc+json",
    "application/grpc-web",
    "application/grpc-web+proto",
    "application/grpc-web-text",
    "application/grpc-web-text+proto",
  }
  for _, content_type in ipairs(types) do
    for _, protocol in ipairs({ "HTTP/1.1", "HTTP/2" }) do
      local judge = fresh("judge")
      equal(questions_for(judge, post(nil, { ["content-type"] = content_type }), protocol), 0, content_type)
    end
  end
end)

test("judge - a body of any type, or of none, is judged, also when the type only begins like gRPC", function()
  local types = {
    "text/plain",
    "application/x-www-form-urlencoded",
    "",
    false,
    "application/grpcx",
    "application/grpc-foo",
    "application/grpc; x=y",
    "application/grpc-webx",
    "application/grpc-web+json",
  }
  for _, content_type in ipairs(types) do
    equal(questions_for(fresh("judge"), post("a", { ["content-type"] = content_type })), 1, tostring(content_type))
  end
end)

test("judge - forgets a key when the server answers it 401 or 429, and then asks again", function()
  for _, status in ipairs({ "401", "429" }) do
    local judge = fresh("judge")
    send(judge, post("a"), accepts)
    send(judge, post("b"), accepts)
    answer(judge, status, "a")
    equal(questions_for(judge, post("b")), 0, "the other key")
    equal(questions_for(judge, post("a")), 1, status)
  end
end)

test("judge - remembers a key whatever else the server answers", function()
  local judge = fresh("judge")
  send(judge, post("a"), accepts)
  for _, status in ipairs({ "200", "201", "400", "403", "404", "409", "412", "413", "500", "503", "504" }) do
    answer(judge, status, "a")
    equal(questions_for(judge, post("a")), 0, status)
  end
end)

test("judge - an answer to nobody in particular makes it forget nobody", function()
  local judge = fresh("judge")
  answer(judge, "401", "a") -- nothing to forget yet
  send(judge, post("a"), accepts)
  answer(judge, "401", nil) -- the request had no body
  answer(judge, "401", "unknown")
  envoy.answer(judge.on_response, { -- it had no key
    headers = { [":status"] = "401" },
    metadata = { ["petstore.rest"] = { request = {} } },
  })
  equal(questions_for(judge, post("a")), 0)
end)

test("judge - remembers 10,000 keys, then begins anew", function()
  local judge = fresh("judge")
  for i = 1, SLOTS do
    send(judge, post("key-" .. i), accepts)
  end
  equal(questions_for(judge, post("key-1")), 0, "the first of 10,000")
  equal(questions_for(judge, post("key-" .. SLOTS)), 0, "the last of them")
  equal(questions_for(judge, post("one more")), 1)
  equal(questions_for(judge, post("key-" .. SLOTS)), 1, "after one more")
  equal(questions_for(judge, post("one more")), 0)
end)

test("judge - a key that was forgotten makes room for one other, and no more", function()
  local judge = fresh("judge")
  for i = 1, SLOTS do
    send(judge, post("key-" .. i), accepts)
  end
  for _ = 1, 3 do
    answer(judge, "401", "key-1")
  end
  send(judge, post("one more"), accepts)
  equal(questions_for(judge, post("key-2")), 0)
  send(judge, post("two more"), accepts)
  equal(questions_for(judge, post("key-2")), 1)
end)

test("judge - a key that is asked about by several requests at once is one key", function()
  local judge = fresh("judge")
  local passes = {}
  for i = 1, 100 do
    passes[i] = send(judge, post("a"))
  end
  for _, pass in ipairs(passes) do
    pass:answer(accepts())
  end
  for i = 2, SLOTS do
    send(judge, post("key-" .. i), accepts)
  end
  equal(questions_for(judge, post("a")), 0)
end)
