/** The descriptor set of all proto files, made by `buf build`. Envoy's transcoder reads the same file. */
import { readFileSync } from 'node:fs';
import { fromBinary } from '@bufbuild/protobuf';
import { type FileDescriptorSet, FileDescriptorSetSchema } from '@bufbuild/protobuf/wkt';

const FILE = new URL('../../gen/petstore.binpb', import.meta.url);

export function readDescriptorSet(): FileDescriptorSet {
  return fromBinary(FileDescriptorSetSchema, readFileSync(FILE));
}
