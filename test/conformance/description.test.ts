/** The description for programs in Go: kin-openapi, on which their gateways and validators build, reads it. */
import { join } from 'node:path';
import { ROOT } from '../../src/platform/launcher/paths.ts';
import { testUnless } from '../support/machine/programs.ts';
import { go, noGo } from './programs.ts';

const test = testUnless(noGo);

test('kin-openapi - accepts the description, its patterns and its examples', async (t) => {
  t.timeout(600_000, 'it is fetched and compiled');
  await t.notThrowsAsync(go(['tool', 'validate', join(ROOT, 'gen/openapi/openapi.json')]));
});
