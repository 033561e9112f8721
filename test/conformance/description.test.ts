/** The description for programs in Go: kin-openapi, on which their gateways and validators build, reads it. */
import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { ROOT } from '../../src/launcher/paths.ts';
import { findProgram } from '../support/find-program.ts';
import { testUnless } from '../support/programs.ts';

const VALIDATE = 'github.com/getkin/kin-openapi/cmd/validate@v0.153.0';

const missing = findProgram(['go']) === undefined ? 'NO GO FOUND, so kin-openapi is not run' : undefined;
const test = testUnless(missing);

test('kin-openapi - accepts the description, its patterns and its examples', async (t) => {
  t.timeout(600_000, 'it is fetched and compiled');
  const document = join(ROOT, 'gen/openapi/openapi.json');
  await t.notThrowsAsync(promisify(execFile)('nice', ['-n', '10', 'go', 'run', VALIDATE, document]));
});
