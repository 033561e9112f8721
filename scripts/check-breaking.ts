/**
 * Checks that the proto files and the OpenAPI description have no breaking change since the last release, whose
 * descriptors and description are in test/upgrades. The compiler checks the release's client program there.
 */
import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { findBreaks } from './openapi-breaks.ts';

const RELEASE = '1.0.0';

const kept = `test/upgrades/${RELEASE}`;
const { status } = spawnSync('buf', ['breaking', 'proto', '--against', `${kept}.binpb`], { stdio: 'inherit' });
const [old, current] = [`${kept}.openapi.json`, 'gen/openapi/openapi.json'].map((file) =>
  JSON.parse(readFileSync(file, 'utf8')),
);
const breaks = findBreaks(old, current);
for (const text of breaks) process.stderr.write(`interface description: ${text}\n`);
if (status !== 0 || breaks.length > 0) {
  process.stderr.write(`This breaks what callers of ${RELEASE} rely on: see docs/compatibility.md.\n`);
  process.exitCode = 1;
}
