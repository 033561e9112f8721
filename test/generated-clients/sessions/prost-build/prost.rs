//! Generates the messages of a descriptor set into the folder in which it runs.
use prost::Message;

fn main() {
    let file = std::env::args().nth(1).expect("the descriptor set");
    let bytes = std::fs::read(file).expect("its bytes");
    let set = prost_types::FileDescriptorSet::decode(&bytes[..]).expect("a set");
    prost_build::Config::new().out_dir(".").compile_fds(set).expect("its code");
}
