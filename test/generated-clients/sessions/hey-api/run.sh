# Needs npm.
npm init --yes > /dev/null
npm pkg set type=module
npm install --silent @hey-api/openapi-ts@0.99.0 zod@4 typescript@5.9 @types/node@24 >&2
npx openapi-ts >&2
npx tsc --strict --target es2023 --lib es2024,dom,dom.iterable --module nodenext --skipLibCheck --types node \
  --outDir out session.ts
node out/session.js
