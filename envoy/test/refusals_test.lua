-- rest.lua: what becomes of a reply that Envoy, or this filter, makes instead of the server.

local envoy = require("fake_envoy")
local harness = require("harness")
local tables = require("tables")

local test, equal, fresh = harness.test, harness.equal, harness.fresh
local HEADERS = tables.headers
local MAX = tables.max_body_bytes

local NOT_FOUND = '{"code":"PET_NOT_FOUND","message":"there is no pet 7","status":404}'
local UNAUTHENTICATED = '{"code":"API_KEY_MISSING","message":"no API key","status":401}'

-- A reply of Envoy itself on its way back. `kept_request` is what the filter kept of the request.
local function refusal(status, server, kept_request, changes)
  local headers = {
    [":status"] = status, ["content-type"] = "text/plain", ["x-request-id"] = "id-1",
    [HEADERS.refused] = "POST", [HEADERS.refused .. "-path"] = "/pets?x=1",
    [HEADERS.refused .. "-authorization"] = "Bearer a", [HEADERS.refused .. "-forwarded-for"] = "10.0.0.1",
    [HEADERS.refused .. "-request-id"] = "id-1",
  }
  for name, value in pairs(changes or {}) do headers[name] = value or nil end
  return envoy.answer(fresh("rest").on_response, {
    headers = headers, body = "Unexpected token.", server = server,
    metadata = kept_request and { ["petstore.rest"] = { request = kept_request } },
  })
end

local function says(error, more)
  return function()
    local headers = { [":status"] = "200", ["grpc-status"] = "5", ["x-envoy-x"] = "1", [HEADERS.error] = error }
    for name, value in pairs(more or {}) do headers[name] = value end
    return headers
  end
end

test("a refusal of Envoy - is worded by the server, which is asked with the caller's credentials", function()
  local pass = refusal("404", says(NOT_FOUND, { ["x-ratelimit-limit"] = "60" }))
  local call = pass.calls[1]
  equal(call.headers[":path"], tables.questions.refuse.path)
  equal(call.headers.authorization, "Bearer a")
  equal(call.headers["x-forwarded-for"], "10.0.0.1")
  equal(call.headers["x-request-id"], "id-1")
  equal({ pass:header(":status"), pass.body }, { "404", NOT_FOUND })
  equal({ pass:header("content-type"), pass:header("x-ratelimit-limit") }, { "application/json", "60" })
  equal({ x = pass:header("x-envoy-x"), message = pass:header("grpc-message") }, {})
  equal(pass:header("grpc-status"), "5", "for the access log: envoy.yaml takes it out")
  equal(pass:header("content-length"), tostring(#NOT_FOUND))
end)

test("a refusal of Envoy - shows nothing of what it told the filter", function()
  local pass = refusal("404", says(NOT_FOUND))
  for _, name in ipairs({ "", "-path", "-authorization", "-forwarded-for", "-request-id" }) do
    equal(pass:header(HEADERS.refused .. name), nil, name)
  end
  equal(pass:header("x-request-id"), "id-1")
end)

test("a refusal of Envoy - may turn out to be another: the key is judged first", function()
  local pass = refusal("404", says(UNAUTHENTICATED, { ["www-authenticate"] = "Bearer" }))
  equal({ pass:header(":status"), pass:header("www-authenticate") }, { "401", "Bearer" })
end)

test("a refusal of Envoy - that had no key and no path is asked about without", function()
  local pass = refusal("404", says(UNAUTHENTICATED), nil, {
    [HEADERS.refused .. "-authorization"] = false, [HEADERS.refused .. "-path"] = false,
  })
  equal({ key = pass.calls[1].headers.authorization }, {})
  equal(pass:header(":status"), "401")
end)

test("a refusal of Envoy - to HEAD has no body, and the length of the error", function()
  local pass = refusal("404", says(NOT_FOUND), nil, { [HEADERS.refused] = "HEAD" })
  equal({ pass.body, pass:header("content-length") }, { "", tostring(#NOT_FOUND) })
end)

test("a failure behind Envoy - is worded by Fail, which counts nothing", function()
  for _, status in ipairs({ "500", "502", "503", "504" }) do
    local pass = refusal(status, says(tables.unavailable))
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
  equal(#refusal("503", says(tables.unavailable), nil, { [HEADERS.refused .. "-path"] = "/pets?/docs" }).calls, 1)
end)

test("a failure behind Envoy - that nobody can word is 504 if it came too late, else 503 with Retry-After", function()
  local silent = function() return { [":status"] = "200", ["grpc-status"] = "14" } end
  for status, expected in pairs({ ["400"] = "503", ["404"] = "503", ["503"] = "503", ["504"] = "504" }) do
    local pass = refusal(status, silent, nil, { ["retry-after"] = "99" })
    equal(pass:header(":status"), expected, status)
    equal(pass.body, expected == "504" and tables.deadline_exceeded or tables.unavailable)
    equal({ later = pass:header("retry-after") }, { later = expected == "503" and "1" or nil })
  end
end)

test("a refusal of this filter - that the server has worded already is not asked about again", function()
  local pass = refusal("401", nil, nil, { [HEADERS.error] = UNAUTHENTICATED, ["www-authenticate"] = "Bearer" })
  equal(#pass.calls, 0)
  equal({ pass:header(":status"), pass.body, pass:header("www-authenticate") }, { "401", UNAUTHENTICATED, "Bearer" })
  equal(pass:header(HEADERS.refused .. "-authorization"), nil)
end)

-- What the server is asked about a request with this body, refused with these words: the fields by name.
local function asked(body, words, path)
  local rest = fresh("rest")
  local questions, fields = require("questions"), nil
  questions.ask = function(_, _, values) fields = values end
  local headers = { [":status"] = "400", [HEADERS.refused] = "POST", [HEADERS.refused .. "-path"] = path or "/pets" }
  local kept = { content_type = "application/json", body = body }
  envoy.answer(rest.on_response, {
    headers = headers, body = words, metadata = { ["petstore.rest"] = { request = kept } },
  })
  return fields, require("questions").encode(tables.questions.refuse.fields, fields)
end

test("a question about a refusal - has the request and Envoy's words of it", function()
  equal(asked('{"name":1}', "Unexpected token.", "/pets?x=1"), {
    method = "POST", path = "/pets?x=1", status = 400, reply = "Unexpected token.", content_type = "application/json",
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
