# Needs npm, python3.
npm install --silent --prefix . openapi-to-postmanv2@6 newman@6 >&2
npx openapi2postmanv2 -s "$DOCUMENT" -o collection.json -O parametersResolution=Example,folderStrategy=Tags >&2
newman() {
  npx newman run collection.json --env-var baseUrl="$API" --env-var bearerToken="$1" --reporters json \
    --reporter-json-export "$2" --folder 'Creates a category' --folder 'Lists categories in ascending order of id' \
    --folder 'Lists events in ascending order of id' >&2
}
newman "$API_KEY" out.json
newman pst_wrong refused.json
python3 session.py
