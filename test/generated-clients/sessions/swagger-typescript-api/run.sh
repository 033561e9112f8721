# Needs npm.
npm install --silent --prefix . swagger-typescript-api@13 typescript@5 @types/node@22 tsx@4 >&2
npm pkg set type=module >&2
npx swagger-typescript-api generate --path "$DOCUMENT" --output client --name api.ts --api-class-name Shop >&2
npx tsc --noEmit --skipLibCheck --strict --module esnext --target esnext --moduleResolution bundler \
  --allowImportingTsExtensions session.ts >&2
npx tsx session.ts
