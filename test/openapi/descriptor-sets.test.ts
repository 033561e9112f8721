/** The descriptor sets that `npm run generate` changes, to a strict reader. Over others prost-build panics. */
import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { fromBinary } from '@bufbuild/protobuf';
import {
  type DescriptorProto,
  type EnumDescriptorProto,
  type FileDescriptorProto,
  FileDescriptorSetSchema,
} from '@bufbuild/protobuf/wkt';
import test from 'ava';

/** The paths of all elements in a file of descriptors, by the numbers of the fields that have them. */
function pathsOf(file: FileDescriptorProto): string[] {
  const items = (path: string, list: readonly unknown[]) => list.map((_, index) => `${path},${index}`);
  const ofEnum = (path: string, { value }: EnumDescriptorProto) => [path, ...items(`${path},2`, value)];
  const ofMessage = (path: string, message: DescriptorProto): string[] => [
    path,
    ...items(`${path},2`, message.field),
    ...message.nestedType.flatMap((nested, index) => ofMessage(`${path},3,${index}`, nested)),
    ...message.enumType.flatMap((nested, index) => ofEnum(`${path},4,${index}`, nested)),
    ...items(
      `${path},8`,
      message.oneofDecl.filter(({ name }) => !name.startsWith('_')),
    ), // those are of `optional`
  ];
  return [
    ...file.messageType.flatMap((message, index) => ofMessage(`4,${index}`, message)),
    ...file.enumType.flatMap((desc, index) => ofEnum(`5,${index}`, desc)),
    ...file.service.flatMap(({ method }, index) => [`6,${index}`, ...items(`6,${index},2`, method)]),
    ...items('7', file.extension),
  ];
}

test('Descriptor sets - a file has the location of each element or none, as strict readers want', (t) => {
  for (const name of ['public.binpb', 'descriptors.binpb']) {
    for (const file of fromBinary(FileDescriptorSetSchema, readFileSync(`gen/${name}`)).file) {
      if (file.sourceCodeInfo === undefined) continue;
      const located = new Set(file.sourceCodeInfo.location.map(({ path }) => path.join()));
      const without = pathsOf(file).filter((path) => !located.has(path));
      t.deepEqual(without, [], `${name} ${file.name}`);
    }
  }
});

test('Descriptor sets - what the server reads and shows is the proto files as buf builds them', (t) => {
  const options = ['--as-file-descriptor-set', '--exclude-source-info', '--output', '-#format=binpb'];
  const built = execFileSync('node_modules/.bin/buf', ['build', ...options]);
  t.true(built.equals(readFileSync('gen/descriptors.binpb')), 'scripts/generate.ts changed gen/descriptors.binpb');
});
