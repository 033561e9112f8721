# Needs npm, curl.
npm install --silent --no-save --prefix . @hey-api/openapi-ts@0.99.0 typescript@5.9.3 \
  openapi-zod-client@1.18.3 @stoplight/prism-cli@5.16.0 >&2
PATH="$PWD/node_modules/.bin:$PATH"
openapi-ts -i "$DOCUMENT" -o hey -p zod >&2
openapi-zod-client "$DOCUMENT" -o zod.ts >&2
tsc --noEmit --noCheck --noResolve --target es2022 hey/zod.gen.ts zod.ts >&2
prism proxy "$DOCUMENT" "$API" -p "$PORT" >&2 &
trap 'kill %1' EXIT
create() {
  curl -s --retry 30 --retry-connrefused -w '%{http_code}\n' -o /dev/null "http://127.0.0.1:$PORT/categories" \
    -H "Authorization: Bearer $API_KEY" -H 'Content-Type: application/json' -d "$1"
}
create '{"name":"a\tb"}'
create '{"name":"Cats"}'
