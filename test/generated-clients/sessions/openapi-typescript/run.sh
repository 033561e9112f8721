# Needs npm.
npm init --yes > /dev/null
npm pkg set type=module
npm install --silent openapi-typescript@7.13.0 openapi-fetch@0.17.0 typescript@5.9 @types/node@24 >&2
npx openapi-typescript "$DOCUMENT" --output client.ts >&2
npx tsc --strict --target es2023 --lib es2024,dom,dom.iterable --module nodenext --skipLibCheck --types node \
  --outDir out session.ts
node out/session.js
