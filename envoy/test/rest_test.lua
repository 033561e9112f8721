-- rest.lua: what it does to a request, and to the answer of the server.

local envoy = require("fake_envoy")
local harness = require("harness")
local tables = require("tables")

local test, equal, fresh = harness.test, harness.equal, harness.fresh
local HEADERS = tables.headers
local MAX = tables.max_body_bytes

local NOT_FOUND = '{"code":"PET_NOT_FOUND","message":"there is no pet 7","status":404}'
local UNAUTHENTICATED = '{"code":"API_KEY_MISSING","message":"no API key","status":401}'

local function accepts() return { [":status"] = "200" } end

local function refuses() return { [":status"] = "200", [HEADERS.error] = UNAUTHENTICATED } end

-- Requests ------------------------------------------------------------------------------------------------------------

-- Sends a request through the filter. `changes` are headers beside method, path and type; false: not sent.
local function request(method, body, changes, server)
  local headers = {
    [":method"] = method, [":path"] = "/pets", ["content-type"] = "application/json", authorization = "Bearer a",
  }
  for name, value in pairs(changes or {}) do headers[name] = value or nil end
  return envoy.request(fresh("rest").on_request, { headers = headers, body = body, server = server })
end

local function kept(pass)
  return pass.metadata["petstore.rest"] and pass.metadata["petstore.rest"].request
end

test("a request without a body - passes untouched, and nobody is asked", function()
  for _, method in ipairs({ "GET", "HEAD", "DELETE", "POST" }) do
    for _, length in ipairs({ "0", false }) do
      local pass = request(method, nil, { ["content-length"] = length })
      equal({ #pass.calls, pass.waits, pass.reply == nil, kept(pass) == nil }, { 0, 0, true, true }, method)
      equal(pass:header(HEADERS.body_type), nil)
    end
  end
end)

test("a request without a body - may be one whose body turns out to be empty", function()
  for _, method in ipairs({ "GET", "POST" }) do
    local pass = request(method, "", { ["transfer-encoding"] = "chunked" })
    equal({ #pass.calls, pass.reply == nil, kept(pass) == nil }, { 0, true, true }, method)
  end
end)

test("a request with a body - tells the server the body's type, also that there is none", function()
  for _, content_type in ipairs({ "application/json; charset=utf-8", "text/plain", false }) do
    local pass = request("POST", "{}", { ["content-type"] = content_type })
    equal(pass:header(HEADERS.body_type), content_type or "")
    equal(kept(pass), { authorization = "Bearer a", content_type = content_type or "", body = "{}" })
    equal(pass.reply, nil)
    equal(#pass.calls, 0)
  end
end)

test("a request with a body - tells the server the type also when it has bytes that metadata can't have", function()
  local types = {
    ["text/pl\233in"] = "text/pl?in", ["\195\169"] = "??",
    ["application/json;\tcharset=utf-8"] = "application/json; charset=utf-8",
  }
  for content_type, told in pairs(types) do
    local pass = request("POST", "{}", { ["content-type"] = content_type })
    equal({ pass:header(HEADERS.body_type), kept(pass).content_type }, { told, told })
  end
end)

test("an idempotency key - passes as it is; one that can't be metadata becomes one that the server refuses", function()
  for key, told in pairs({ ["a key"] = "a key", ["!~"] = "!~", [""] = "", ["\195\169"] = ",", ["a\tb"] = "," }) do
    for _, content_type in ipairs({ "application/json", "application/grpc" }) do
      for _, body in ipairs({ "{}", false }) do
        local pass = request("POST", body or nil, { ["idempotency-key"] = key, ["content-type"] = content_type })
        equal(pass:header("idempotency-key"), told)
      end
    end
  end
  equal(request("POST", "{}"):header("idempotency-key"), nil)
end)

test("a request with a body - can't say the type by a header of ours", function()
  local pass = request("POST", "{}", { [HEADERS.body_type] = "application/json", ["content-type"] = "text/plain" })
  equal(pass:header(HEADERS.body_type), "text/plain")
end)

test("a request with a body - that is no JSON is a 400, and the body is not repeated to the server", function()
  local pass = request("POST", "{'name':'Tom'}")
  equal(pass.reply, { headers = { [":status"] = "400" }, body = "" })
  equal({ body = kept(pass).body }, {})
end)

test("a request with a body - of more than 64 KiB is a 413 by its length, before any of it is read", function()
  for _, method in ipairs({ "POST", "GET" }) do
    for _, length in ipairs({ MAX + 1, "99999999999999999999" }) do
      local pass = request(method, "{}", { ["content-length"] = tostring(length) })
      equal(pass.reply, { headers = { [":status"] = "413" }, body = "" })
      equal({ pass.waits, #pass.calls }, { 1, 0 }, "no wait but the end")
    end
  end
  equal(request("POST", "{}", { ["content-length"] = tostring(MAX) }).reply, nil)
end)

test("a request with a body - of more than 64 KiB without a length is a 413 when it is there", function()
  local chunked = { ["transfer-encoding"] = "chunked" }
  equal(request("POST", '"' .. ("x"):rep(MAX - 1) .. '"', chunked).reply.headers, { [":status"] = "413" })
  equal(request("POST", '"' .. ("x"):rep(MAX - 2) .. '"', chunked).reply, nil)
end)

test("a request with a body where none is expected - is judged before the body is looked at", function()
  for _, method in ipairs({ "GET", "HEAD", "DELETE" }) do
    local pass = request(method, "{", nil, refuses)
    equal(pass.calls[1].headers[":path"], tables.questions.judge.path)
    equal(pass.reply.headers, { [":status"] = "401", [HEADERS.error] = UNAUTHENTICATED })
    equal(kept(pass), nil)
  end
end)

test("a request with a body where none is expected - goes on when its caller is accepted", function()
  for _, method in ipairs({ "GET", "HEAD", "DELETE" }) do
    local pass = request(method, "{}", nil, accepts)
    equal(#pass.calls, 1)
    equal(pass.reply, nil)
    equal(pass:header(HEADERS.body_type), "application/json")
    equal(kept(pass).body, "{}")
  end
end)

test("a request - of gRPC or gRPC-Web passes untouched", function()
  local types = {
    "application/grpc", "application/grpc+proto", "application/grpc-web", "application/grpc-web+proto",
    "application/grpc-web-text", "application/grpc-web-text+proto",
  }
  for _, content_type in ipairs(types) do
    local changes = { ["content-type"] = content_type, ["content-length"] = tostring(MAX * 2) }
    local pass = request("POST", "\0\0\0\0\0", changes)
    equal({ pass.waits, #pass.calls, pass.reply == nil, kept(pass) == nil }, { 0, 0, true, true }, content_type)
  end
end)

test("a request - of a type that only begins like gRPC is REST", function()
  for _, content_type in ipairs({ "application/grpcjson", "application/grpc-webjson", "application/grpc-web+json" }) do
    equal(request("POST", "{}", { ["content-type"] = content_type }):header(HEADERS.body_type), content_type)
  end
end)

test("a request - has the lines of a condition as one list, in bytes that metadata can have", function()
  for _, name in ipairs({ "if-match", "if-none-match" }) do
    for _, content_type in ipairs({ "application/json", "application/grpc" }) do
      local script = function(handle)
        handle:headers():add(name, 'W/"b\195\169"')
        fresh("rest").on_request(handle)
      end
      local headers = { [":method"] = "GET", [":path"] = "/pets/7", ["content-type"] = content_type, [name] = '\t"a"' }
      equal(envoy.request(script, { headers = headers }):header(name), ' "a",W/"b??"')
    end
    equal(request("GET", nil):header(name), nil)
  end
end)

test("a request - of CONNECT, which has no path, is a 404", function()
  equal(request("CONNECT", nil, { [":path"] = false }).reply, { headers = { [":status"] = "404" }, body = "" })
end)

-- Answers of the server -----------------------------------------------------------------------------------------------

-- The answer of an operation on its way back, as the transcoder printed it.
local function answer(method, operation, body, changes)
  local headers = {
    [":status"] = "200", ["content-type"] = "application/json", ["content-length"] = tostring(#(body or "")),
    [HEADERS.request] = method .. " /petstore.v1." .. operation .. " /pets",
  }
  for name, value in pairs(changes or {}) do headers[name] = value or nil end
  local trailers = { ["grpc-status"] = "0", ["grpc-message"] = "" }
  return envoy.answer(fresh("rest").on_response, { headers = headers, body = body, trailers = trailers })
end

local function printed(operation, body)
  local pass = answer("GET", operation, body)
  equal(pass:header("content-length"), tostring(#pass.body))
  return pass.body
end

test("an answer - has its int64 fields as numbers", function()
  equal(printed("PetService/GetPet", '{"id":"7","categoryId":"9007199254740993"}'),
    '{"id":7,"categoryId":9007199254740993}')
  equal(printed("PetService/GetPet", '{"id":"-9223372036854775808"}'), '{"id":-9223372036854775808}')
  equal(printed("OrderService/GetOrder", '{"id":"1","petId":"2","quantity":3}'), '{"id":1,"petId":2,"quantity":3}')
  equal(printed("InventoryService/GetInventoryItem", '{"petId":"2","quantity":0}'), '{"petId":2,"quantity":0}')
end)

test("an answer - has no other field as a number, not if its name ends alike", function()
  for _, same in ipairs({
    '{"name":"7","description":"-7"}', '{"paidId":"7","ID":"8","xid":"9"}', '{"id":7}', '{"petId":"7"}',
  }) do
    equal(printed("PetService/GetPet", same), same)
  end
  equal(printed("CategoryService/GetCategory", '{"categoryId":"7"}'), '{"categoryId":"7"}')
end)

test("an answer - keeps what a text says of ids", function()
  for _, same in ipairs({
    [[{"name":"\"id\":\"7\""}]], [[{"name":"{\"id\":\"7\",\"categoryId\":\"8\"}"}]], [[{"name":"\\\"id\":\"7\""}]],
    [[{"name":"id","description":"7"}]], [[{"name":"\"id","description":":\"7\""}]], [[{"name":"%1%2"}]],
  }) do
    equal(printed("PetService/GetPet", same), same)
  end
end)

test("an answer - that is a list is a bare array", function()
  local lists = {
    ["PetService/ListPets"] = "pets", ["CategoryService/ListCategories"] = "categories",
    ["OrderService/ListOrders"] = "orders", ["InventoryService/ListInventory"] = "items",
  }
  for operation, name in pairs(lists) do
    equal(printed(operation, '{"' .. name .. '":[],"nextPageToken":""}'), "[]")
    equal(printed(operation, '{"' .. name .. '":[{"x":"a"},{"x":"b"}],"nextPageToken":"aB3-_"}'),
      '[{"x":"a"},{"x":"b"}]')
  end
end)

test("an answer - that is a list keeps a text that looks like the list's end", function()
  local pets = [=[[{"id":7,"name":"],\"nextPageToken\":\"x\"}"},{"id":8,"name":"]"}]]=]
  equal(printed("PetService/ListPets", '{"pets":' .. pets .. ',"nextPageToken":"x"}'), pets)
end)

test("an answer - has the status of its operation", function()
  equal(answer("POST", "PetService/CreatePet", '{"id":"7"}'):header(":status"), "201")
  equal(answer("POST", "OrderService/PlaceOrder", '{"id":"7"}'):header(":status"), "201")
  equal(answer("PUT", "PetService/ReplacePet", '{"id":"7"}'):header(":status"), "200")
end)

test("an answer - of 204 has no body, no type and no length", function()
  local deletions = { "PetService/DeletePet", "CategoryService/DeleteCategory", "OrderService/CancelOrder" }
  for _, operation in ipairs(deletions) do
    local pass = answer("DELETE", operation, "{}")
    equal({ pass:header(":status"), pass.body }, { "204", "" })
    equal({ type = pass:header("content-type"), length = pass:header("content-length") }, {})
  end
end)

test("an answer - that the caller has already is a 304 without a body, a type and a length", function()
  for _, method in ipairs({ "GET", "HEAD" }) do
    local changes = { [HEADERS.not_modified] = "1", etag = '"a"', ["x-ratelimit-limit"] = "60" }
    local pass = answer(method, "PetService/GetPet", '{"id":"7"}', changes)
    equal({ pass:header(":status"), pass.body }, { "304", "" })
    equal({ type = pass:header("content-type"), length = pass:header("content-length") }, {})
    equal({ pass:header("etag"), pass:header("x-ratelimit-limit") }, { '"a"', "60" })
    equal({ pass:trailer("grpc-status") }, {})
  end
end)

test("an answer - leaves nothing of the gRPC call in its trailers", function()
  for _, operation in ipairs({ "PetService/GetPet", "PetService/DeletePet", "PetService/ListPets" }) do
    local pass = answer("GET", operation, '{"pets":[],"nextPageToken":""}')
    equal({ pass:trailer("grpc-status"), pass:trailer("grpc-message") }, {})
  end
end)

test("an answer - to HEAD has the headers of the GET and no body", function()
  local pet = '{"id":"7","name":"Tom"}'
  local get, head = answer("GET", "PetService/GetPet", pet), answer("HEAD", "PetService/GetPet", pet)
  equal({ head.body, head:header("content-length") }, { "", tostring(#get.body) })
  local list = '{"pets":[{"id":"7"}],"nextPageToken":""}'
  equal(answer("HEAD", "PetService/ListPets", list):header("content-length"), tostring(#'[{"id":7}]'))
end)

test("an answer - of what is no JSON keeps its bytes, and its length where the server gives it", function()
  local path = { [HEADERS.request] = "HEAD /petstore.web.v1.WebService/GetDocsPage /docs" }
  local page = answer("GET", "", '{"id":"7"}', path)
  -- One wait, for the trailers: the body passes meanwhile.
  equal({ page.body, page.waits, page:header("content-length") }, { '{"id":"7"}', 1, "10" })
  path[HEADERS.length] = "1234"
  equal(answer("HEAD", "", nil, path):header("content-length"), "1234")
end)

test("an answer - of Envoy's own that has no room for the call is left as it is", function()
  local changes = { [":status"] = "503", [HEADERS.request] = false }
  local pass = answer("GET", "PetService/GetPet", tables.unavailable, changes)
  equal({ pass:header(":status"), pass.body, pass.waits }, { "503", tables.unavailable, 0 })
end)

test("an answer - to gRPC passes untouched", function()
  local pass = envoy.answer(fresh("rest").on_response, {
    headers = { [":status"] = "200", ["grpc-status"] = "5", [HEADERS.error] = NOT_FOUND }, body = '{"id":"7"}',
  })
  equal({ pass.body, pass.waits, pass:header(":status") }, { '{"id":"7"}', 0, "200" })
end)

test("an error of the server - is the body, with its status and type", function()
  local headers = { [HEADERS.error] = NOT_FOUND, ["content-type"] = "application/grpc" }
  local pass = answer("GET", "PetService/GetPet", "", headers)
  equal({ pass:header(":status"), pass.body }, { "404", NOT_FOUND })
  equal({ pass:header("content-type"), pass:header("content-length") }, { "application/json", tostring(#NOT_FOUND) })
end)

test("an error of the server - is a body of its own where the answer had none, and none for HEAD", function()
  local errors = { [HEADERS.error] = NOT_FOUND }
  equal(answer("GET", "PetService/GetPet", nil, errors).body, NOT_FOUND)
  local head = answer("HEAD", "PetService/GetPet", nil, errors)
  equal({ head:header(":status"), head.body, head:header("content-length") }, { "404", "", tostring(#NOT_FOUND) })
end)
