/**
 * Checks that the proto files and the OpenAPI description have no breaking change since the last release, whose
 * descriptors and description are in test/upgrades. The compiler checks the release's client program there. Before the
 * first release nothing is promised, and a new major version in package.json may break what it tells of here.
 */
import { execFileSync, spawnSync } from 'node:child_process';
import { globSync, readFileSync } from 'node:fs';
import { basename } from 'node:path';
import { fromBinary, toBinary } from '@bufbuild/protobuf';
import { FileDescriptorSetSchema } from '@bufbuild/protobuf/wkt';
import { version } from '../src/platform/config/constants.ts';
import { findBreaks } from './openapi/breaks.ts';

const newest = (one: string, other: string) => other.localeCompare(one, 'en', { numeric: true });
const [release] = globSync('test/upgrades/*.openapi.json').sort(newest);
if (release === undefined) process.stderr.write('test/upgrades has no release yet: nothing can break\n');
else compare(release.replace('.openapi.json', ''));

/** `kept` is the path of the release's files, without what their names end in. */
function compare(kept: string): void {
  const before = fromBinary(FileDescriptorSetSchema, readFileSync(`${kept}.binpb`));
  // The release's descriptors are without those of other projects, which they import: these are today's.
  const today = fromBinary(FileDescriptorSetSchema, execFileSync('buf', ['build', 'proto', '-o', '-#format=binpb']));
  const own = new Set(before.file.map(({ name }) => name));
  const imported = today.file.filter(({ name }) => !own.has(name));
  const against = { ...before, file: [...imported, ...before.file] };
  const { status } = spawnSync('buf', ['breaking', 'proto', '--against', '-#format=binpb'], {
    input: toBinary(FileDescriptorSetSchema, against),
    stdio: ['pipe', 'inherit', 'inherit'],
  });
  const [old, current] = [`${kept}.openapi.json`, 'gen/openapi/openapi.json'].map((name) =>
    JSON.parse(readFileSync(name, 'utf8')),
  );
  const breaks = findBreaks(old, current);
  for (const text of breaks) process.stderr.write(`interface description: ${text}\n`);
  if (status !== 0 || breaks.length > 0) {
    process.stderr.write(`This breaks what callers of ${basename(kept)} rely on: see docs/compatibility.md.\n`);
    process.exitCode = isNewMajor(version(), basename(kept)) ? 0 : 1;
  }
}

function isNewMajor(version: string, since: string): boolean {
  return Number.parseInt(version, 10) > Number.parseInt(since, 10);
}
