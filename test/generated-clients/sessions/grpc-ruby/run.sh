# Needs ruby, protoc, grpc_ruby_plugin.
curl -fsSO "$API/petstore.proto"
protoc --ruby_out=. --grpc_out=. --plugin=protoc-gen-grpc="$(command -v grpc_ruby_plugin)" petstore.proto
ruby -I. session.rb
