/** The descriptors of parcels.proto: a service with lists of every kind, which the shop has none of. */
import { execFileSync } from 'node:child_process';
import { type DescMessage, fromBinary } from '@bufbuild/protobuf';
import { FileDescriptorSetSchema } from '@bufbuild/protobuf/wkt';
import { loadOperations } from '../../../src/platform/proto/operations.ts';

/** The descriptors of all proto files and those in this folder. */
export function describeWith(folder: string) {
  const modules = ['proto', folder, 'third_party/proto'].map((path) => ({ path }));
  const built = execFileSync('node_modules/.bin/buf', [
    ...['build', '.', '--config', JSON.stringify({ version: 'v2', modules })],
    ...['--as-file-descriptor-set', '--output', '-#format=binpb'],
  ]);
  return fromBinary(FileDescriptorSetSchema, built);
}

const { registry, byPath } = loadOperations(describeWith('test/support/lists'));

export const parcelRegistry = registry;

export const parcelOperations = [...byPath.values()].filter(({ path }) => path.startsWith('/petstore.v1.test.'));

export function parcelMessage(name: string): DescMessage {
  const found = parcelRegistry.getMessage(`petstore.v1.test.${name}`);
  if (found === undefined) throw new Error(`parcels.proto has no message ${name}`);
  return found;
}
