# Needs php, protoc.
curl -fsSO "$API/petstore.proto"
protoc --php_out=. petstore.proto
php session.php
