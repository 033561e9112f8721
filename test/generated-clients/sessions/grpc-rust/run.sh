# Needs cargo, protoc.
curl -fsSO "$API/petstore.proto"
cargo run --quiet
