# Needs cargo, curl.
cargo init --quiet --vcs none --name generate
mv prost.rs src/main.rs
cargo add --quiet prost@=0.14.1 prost-build@=0.14.1 prost-types@=0.14.1
curl -fsSO "$API/petstore.binpb"
cargo run --quiet petstore.binpb
grep -A 20 '/// Any fields of NewPet' petstore.v1.rs | grep -o 'pub struct PetPatch'
