# Needs go.
go mod init example.com/shop >&2
mkdir client
go run github.com/oapi-codegen/oapi-codegen/v2/cmd/oapi-codegen@v2.8.0 \
  -generate types,client -package client -o client/client.go "$DOCUMENT"
go mod tidy >&2
go run .
