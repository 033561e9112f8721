// Prints the descriptors of grpc-go's tests: what `client` of its interoperability tests calls.
package main

import (
	"os"

	testpb "google.golang.org/grpc/interop/grpc_testing"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protodesc"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/descriptorpb"
)

func main() {
	set := &descriptorpb.FileDescriptorSet{}
	add(set, testpb.File_grpc_testing_test_proto)
	bytes, err := proto.Marshal(set)
	if err != nil {
		panic(err)
	}
	os.Stdout.Write(bytes)
}

func add(set *descriptorpb.FileDescriptorSet, file protoreflect.FileDescriptor) {
	for i := range file.Imports().Len() {
		add(set, file.Imports().Get(i))
	}
	set.File = append(set.File, protodesc.ToFileDescriptorProto(file))
}
