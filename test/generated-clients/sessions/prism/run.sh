# Needs npm, curl, python3.
npm install --silent --prefix . @stoplight/prism-cli@5 >&2
npx prism proxy "$DOCUMENT" "$API" --port "$PORT" > prism.log 2>&1 &
trap 'kill %1' EXIT
export API="http://127.0.0.1:$PORT"
until curl -sf "$API/categories" -H "Authorization: Bearer $API_KEY" > /dev/null; do sleep 0.5; done
python3 session.py
grep -c 'iolation' prism.log || true
