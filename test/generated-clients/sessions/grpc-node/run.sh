# Needs npm.
curl -fsSO "$API/petstore.proto"
npm install --silent --prefix . @grpc/grpc-js@1 @grpc/proto-loader@0 google-proto-files@5 >&2
node session.mjs
