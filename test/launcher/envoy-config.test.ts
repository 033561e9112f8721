import { readFileSync } from 'node:fs';
import test from 'ava';
import { parse } from 'yaml';
import { readConfig } from '../../src/platform/config/config.ts';
import { writeEnvoyConfig } from '../../src/platform/launcher/envoy-config.ts';
import { temporaryFolder } from '../support/machine/folder.ts';

test("Envoy's configuration - is the same in YAML 1.1, which Envoy reads, with any secret", async (t) => {
  const secret = '0x1_000_000_000_000_000_000_000_000';
  const config = readConfig({ EDGE_SECRET: secret, DATA_DIR: temporaryFolder(t) });
  const text = readFileSync(await writeEnvoyConfig(config), 'utf8');
  t.deepEqual(parse(text, { version: '1.1' }), parse(text));
  t.true(text.includes(`"${secret}"`));
});
