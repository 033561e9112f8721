-- rest.lua: what becomes of a reply that Envoy, or this filter, makes instead of the server.

local envoy = require("fake_envoy")
local harness = require("harness")
local tables = require("tables")

local test, equal, fresh = harness.test, harness.equal, harness.fresh
local HEADERS = tables.headers
local MAX = tables.max_body_bytes

local NOT_FOUND = '{"code":"PET_NOT_FOUND","message":"there is no pet 7","status":404}'
local UNAUTHENTICATED = '{"code":"API_KEY_MISSING","message":"no API key","status":401}'

-- A reply of Envoy itself on its way back. `kept_request` is what the filter kept of the request. `changes` are headers
-- that differ; false: not there.
local function refusal(status, server, kept_request, changes)
  local headers = {
    [":status"] = status,
    ["content-type"] = "text/plain",
    ["x-request-id"] = "id-1",
    [HEADERS.refused] = "POST",
    [HEADERS.refused .. "-path"] = "/pets?x=1",
    [HEADERS.refused .. "-authorization"] = "Bearer a",
    [HEADERS.refused .. "-forwarded-for"] = "10.0.0.1",
    [HEADERS.refused .. "-request-id"] = "id-1",
  }
  for name, value in pairs(changes or {}) do
    headers[name] = value or nil
  end
  return envoy.answer(fresh("rest").on_response, {
    headers = headers,
    body = "Unexpected token.",
    server = server,
    metadata = kept_request and { ["petstore.rest"] = { request = kept_request } },
  })
end

-- A server that answers with this error, in HTTP.
local function says(status, error, more)
  return function()
    local headers = {
      [":status"] = status,
      ["content-type"] = "application/json",
      ["content-length"] = "1",
      ["x-envoy-x"] = "1",
    }
    for name, value in pairs(more or {}) do
      headers[name] = value
    end
    return headers, error
  end
end

-- What Envoy makes of a server that can't be reached.
local function is_silent()
  return { [":status"] = "200", ["grpc-status"] = "14" }
end

test("a refusal of Envoy - is worded by the server, which is asked with the caller's credentials", function()
  local pass = refusal("404", says("404", NOT_FOUND, { ["x-ratelimit-limit"] = "60" }))
  local call = pass.calls[1]
  equal(call.headers[":path"], tables.questions.refuse.path)
  equal(call.headers.authorization, "Bearer a")
  equal(call.headers["x-forwarded-for"], "10.0.0.1")
  equal(call.headers["x-request-id"], "id-1")
  equal({ pass:header(":status"), pass.body }, { "404", NOT_FOUND })
  equal({ pass:header("content-type"), pass:header("x-ratelimit-limit") }, { "application/json", "60" })
  equal({ x = pass:header("x-envoy-x") }, {})
  equal(pass:header("content-length"), tostring(#NOT_FOUND))
end)

test("a refusal of Envoy - has the status that the server gives, whatever the words of the error say", function()
  local error = '{"code":"X","message":"he said {\\"status\\":200}","status":400}'
  for _, status in ipairs({ "400", "401", "404", "413", "429", "500", "503" }) do
    local pass = refusal("404", says(status, error))
    equal({ pass:header(":status"), pass.body }, { status, error })
  end
end)

test("a refusal of Envoy - tells the access log what the server says of it", function()
  local log = {
    [HEADERS.account] = "1",
    [HEADERS.key] = "2",
    [HEADERS.code] = "PET_NOT_FOUND",
    [HEADERS.grpc_status] = "5",
  }
  local pass = refusal("404", says("404", NOT_FOUND, log))
  for name, value in pairs(log) do
    equal(pass:header(name), value, name)
  end
end)

test("a refusal of Envoy - shows nothing of what it told the filter", function()
  local pass = refusal("404", says("404", NOT_FOUND))
  for _, name in ipairs({ "", "-path", "-authorization", "-forwarded-for", "-request-id" }) do
    equal(pass:header(HEADERS.refused .. name), nil, name)
  end
  equal(pass:header("x-request-id"), "id-1")
end)

test("a refusal of Envoy - may turn out to be another: the key is judged first", function()
  local pass = refusal("404", says("401", UNAUTHENTICATED, { ["www-authenticate"] = "Bearer" }))
  equal({ pass:header(":status"), pass:header("www-authenticate") }, { "401", "Bearer" })
end)

test("a refusal of Envoy - that had no key and no path is asked about without", function()
  local pass = refusal("404", says("401", UNAUTHENTICATED), nil, {
    [HEADERS.refused .. "-authorization"] = false,
    [HEADERS.refused .. "-path"] = false,
  })
  equal({ key = pass.calls[1].headers.authorization }, {})
  equal(pass:header(":status"), "401")
end)

test("a refusal of Envoy - to HEAD has no body, and the length of the error", function()
  local head, open = { [HEADERS.refused] = "HEAD" }, { [HEADERS.refused] = "HEAD" }
  open[HEADERS.refused .. "-path"] = "/docs"
  for _, case in ipairs({
    { refusal("404", says("404", NOT_FOUND), nil, head), "404", NOT_FOUND },
    { refusal("503", says("503", tables.unavailable), nil, head), "503", tables.unavailable },
    { refusal("404", is_silent, nil, head), "503", tables.unavailable },
    { refusal("504", is_silent, nil, head), "504", tables.deadline_exceeded },
    { refusal("503", nil, nil, open), "503", tables.unavailable },
  }) do
    local pass, status, error = unpack(case)
    equal({ pass:header(":status"), pass.body, pass:header("content-length") }, { status, "", tostring(#error) })
    equal(pass:header("content-type"), "application/json")
  end
end)

test("a failure behind Envoy - is worded by Fail, which counts nothing", function()
  for _, status in ipairs({ "500", "502", "503", "504" }) do
    local pass = refusal(status, says("503", tables.unavailable))
    equal(pass.calls[1].headers[":path"], tables.questions.fail.path)
    equal(pass:header(":status"), "503")
  end
end)

test("a failure behind Envoy - of what needs no key is worded here: there is no caller to ask about", function()
  for path in pairs(tables.open_paths) do
    for _, query in ipairs({ "", "?x=1" }) do
      local pass = refusal("503", nil, nil, { [HEADERS.refused .. "-path"] = path .. query })
      equal({ #pass.calls, pass:header(":status"), pass.body }, { 0, "503", tables.unavailable }, path .. query)
    end
  end
  local other = { [HEADERS.refused .. "-path"] = "/pets?/docs" }
  equal(#refusal("503", says("503", tables.unavailable), nil, other).calls, 1)
end)

test("a failure behind Envoy - that nobody can word is 504 if it came too late, else 503 with Retry-After", function()
  for status, expected in pairs({ ["400"] = "503", ["404"] = "503", ["503"] = "503", ["504"] = "504" }) do
    local pass = refusal(status, is_silent, nil, { ["retry-after"] = "99" })
    local is_late = expected == "504"
    local error = is_late and tables.deadline_exceeded or tables.unavailable
    equal({ pass:header(":status"), pass.body }, { expected, error }, status)
    equal({ pass:header("content-type"), pass:header("content-length") }, { "application/json", tostring(#error) })
    equal({ later = pass:header("retry-after") }, { later = not is_late and "1" or nil })
    equal(pass:header(HEADERS.code), is_late and "DEADLINE_EXCEEDED" or "UNAVAILABLE")
    equal(pass:header(HEADERS.grpc_status), is_late and "4" or "14")
  end
end)

test("a failure behind Envoy - says when to come back as the server does, and not as Envoy did", function()
  local envoys = { ["retry-after"] = "99" }
  equal(refusal("503", says("503", tables.unavailable), nil, envoys):header("retry-after"), nil)
  local ours = says("503", tables.unavailable, { ["retry-after"] = "30" })
  equal(refusal("503", ours, nil, envoys):header("retry-after"), "30")
end)

-- A reply of the filter on its way back, that the server has worded. Envoy has set its length.
local function worded(method, body)
  return envoy.answer(fresh("rest").on_response, {
    headers = {
      [":status"] = "401",
      ["content-type"] = "text/plain",
      ["content-length"] = tostring(#UNAUTHENTICATED),
      ["www-authenticate"] = "Bearer",
      ["retry-after"] = "30",
      [HEADERS.code] = "API_KEY_MISSING",
      [HEADERS.grpc_status] = "16",
      [HEADERS.worded] = "1",
      [HEADERS.refused] = method,
      [HEADERS.refused .. "-path"] = "/pets",
      [HEADERS.refused .. "-authorization"] = "Bearer a",
    },
    body = body,
  })
end

test("a refusal of this filter - that the server has worded already is not asked about again", function()
  local pass = worded("POST", UNAUTHENTICATED)
  equal({ #pass.calls, pass.waits }, { 0, 0 })
  equal({ pass:header(":status"), pass.body, pass:header("www-authenticate") }, { "401", UNAUTHENTICATED, "Bearer" })
  equal({ pass:header("content-type"), pass:header("retry-after") }, { "application/json", "30" })
  equal({ pass:header(HEADERS.code), pass:header(HEADERS.grpc_status) }, { "API_KEY_MISSING", "16" })
  for _, name in ipairs({ HEADERS.worded, HEADERS.refused, HEADERS.refused .. "-path" }) do
    equal(pass:header(name), nil, name)
  end
  equal(pass:header(HEADERS.refused .. "-authorization"), nil)
end)

test("a refusal of this filter - that the server has worded already has no body for HEAD, and its length", function()
  local pass = worded("HEAD", nil)
  equal({ pass:header(":status"), pass:header("content-length") }, { "401", tostring(#UNAUTHENTICATED) })
  equal({ body = pass.body, type = pass:header("content-type") }, { type = "application/json" })
end)

test("a refusal of this filter - that nobody has worded is asked about like one of Envoy", function()
  for _, status in ipairs({ "400", "404", "413", "415" }) do
    local pass = envoy.answer(fresh("rest").on_response, {
      headers = { [":status"] = status, [HEADERS.refused] = "POST" },
      server = says("404", NOT_FOUND),
    })
    equal({ #pass.calls, pass:header(":status"), pass.body }, { 1, "404", NOT_FOUND })
  end
end)

-- What the server is asked about a request with this body, refused with these words: the fields by name.
local function asked(body, words, path)
  local rest = fresh("rest")
  local questions, fields = require("questions"), nil
  questions.ask = function(_, _, values)
    fields = values
  end
  local headers = { [":status"] = "400", [HEADERS.refused] = "POST", [HEADERS.refused .. "-path"] = path or "/pets" }
  local kept = { content_type = "application/json", body = body }
  envoy.answer(rest.on_response, {
    headers = headers,
    body = words,
    metadata = { ["petstore.rest"] = { request = kept } },
  })
  return fields, require("questions").encode(tables.questions.refuse.fields, fields)
end

test("a question about a refusal - has the request and Envoy's words of it", function()
  equal(asked('{"name":1}', "Unexpected token.", "/pets?x=1"), {
    method = "POST",
    path = "/pets?x=1",
    status = 400,
    reply = "Unexpected token.",
    content_type = "application/json",
    body = '{"name":1}',
  })
  equal({ body = asked(nil, "Unexpected token.").body }, {})
end)

test("a question about a refusal - is as long as the server reads, and leaves out a body that would be more", function()
  local longest = 0
  for length = MAX - 300, MAX do
    local fields, message = asked(("x"):rep(length), "Unexpected token.")
    equal(#message <= MAX, true, length)
    if fields.body then longest = length end
  end
  equal(longest > MAX - 200, true, "a body that fits is not left out: " .. longest)
  local _, message = asked(("x"):rep(10000), ("y"):rep(MAX), "/" .. ("z"):rep(60000))
  equal(#message <= MAX, true, #message)
end)

test("a question about a refusal - has the beginning of long words of Envoy", function()
  local words = 'quantity: invalid value "' .. ("x"):rep(MAX) .. '" for type TYPE_INT32'
  equal(asked("{}", words).reply, words:sub(1, 1000))
end)
