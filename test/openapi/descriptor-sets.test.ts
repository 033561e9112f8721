/** The descriptor sets of `npm run generate`. prost-build, a strict reader, is among test/generated-clients. */
import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import test from 'ava';

test('Descriptor sets - what the server reads and shows is the proto files as buf builds them', (t) => {
  const options = ['--as-file-descriptor-set', '--exclude-source-info', '--output', '-#format=binpb'];
  const built = execFileSync('node_modules/.bin/buf', ['build', ...options]);
  t.true(built.equals(readFileSync('gen/descriptors.binpb')), 'scripts/generate.ts changed gen/descriptors.binpb');
});
