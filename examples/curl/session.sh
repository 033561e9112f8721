#!/usr/bin/env bash
set -euo pipefail
# The addresses in responses are paths of this origin.
origin=$(grep --only-matching --extended-regexp '^https?://[^/]+' <<<"$API")
authorization="Authorization: Bearer $API_KEY"

# Creates a category. All attempts of the command have the same key, so that they create one.
once="Idempotency-Key: $(openssl rand -hex 16)"
path=$(curl -sS --retry 5 --max-time 10 "$API/categories" -H "$authorization" -H "$once" \
  --json '{"name": "Cats"}' --output created.json --write-out '%header{location}')
cat created.json && echo

# Reads it, and keeps its entity tag. Asked with the tag, the service sends nothing while it is the same.
curl -sS --max-time 10 "$origin$path" -H "$authorization" --etag-save etag.txt && echo
curl -sS --max-time 10 "$origin$path" -H "$authorization" --etag-compare etag.txt --write-out '%{http_code}\n'

# Replaces it, unless somebody else has changed it since it was read. The second command comes too late.
curl -sS --max-time 10 -X PUT "$origin$path" -H "$authorization" -H "If-Match: $(cat etag.txt)" \
  --json '{"name": "Big cats"}' && echo
curl -sS --max-time 10 -X DELETE "$origin$path" -H "$authorization" -H "If-Match: $(cat etag.txt)" && echo

# An error has a code for programs, and names each invalid field.
curl -sS --max-time 10 "$API/categories" -H "$authorization" --json '{"name": ""}' && echo

# A list has pages, here of one row. The header Link of each leads to the next one.
page="$API/categories?limit=1"
while [[ -n $page ]]; do
  curl -sS --retry 5 --max-time 10 "$page" -H "$authorization" --dump-header headers.txt && echo
  page=$(sed -n "s|^link: <\(.*\)>; rel=\"next\".*|$origin\1|ip" headers.txt)
done
