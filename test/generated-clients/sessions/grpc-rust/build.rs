fn main() {
    tonic_prost_build::compile_protos("petstore.proto").unwrap();
}
