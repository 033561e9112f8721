import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import test from 'ava';
import { parse } from 'yaml';
import { readConfig } from '../../src/config/config.ts';
import { writeEnvoyConfig } from '../../src/launcher/envoy-config.ts';

test("Envoy's configuration - is the same in YAML 1.1, which Envoy reads, with any secret", async (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'petstore-envoy-config-'));
  t.teardown(() => rmSync(folder, { recursive: true }));
  const secret = '0x1_000_000_000_000_000_000_000_000';
  const text = readFileSync(await writeEnvoyConfig(readConfig({ EDGE_SECRET: secret, DATA_DIR: folder })), 'utf8');
  t.deepEqual(parse(text, { version: '1.1' }), parse(text));
  t.true(text.includes(`"${secret}"`));
});
