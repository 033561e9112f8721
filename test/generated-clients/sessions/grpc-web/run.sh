# Needs npm, protoc, curl.
npm install --silent --prefix . @protobuf-ts/plugin@2 @protobuf-ts/grpcweb-transport@2 @protobuf-ts/runtime@2 \
  @protobuf-ts/runtime-rpc@2 google-proto-files@5 typescript@5 @types/node@22 tsx@4 >&2
npm pkg set type=module >&2
curl -fsSO "$API/petstore.proto"
protoc -I. -Inode_modules/google-proto-files --plugin=node_modules/.bin/protoc-gen-ts --ts_out=. \
  petstore.proto google/rpc/status.proto google/rpc/error_details.proto
npx tsx session.ts
