/** Envoy takes any runtime key, and ignores one that it does not know. */
import { globSync, readFileSync } from 'node:fs';
import test from 'ava';

/** Runtime keys of Envoy as `layered_runtime` sets them; other names are Envoy's extensions, which it checks. */
const KEY = /^\s+'((?!envoy\.)\w+(?:\.\w+)+)': /gm;
const ENVOY = '.envoy/envoy/_bin/envoy';

test('Runtime keys - the pinned Envoy has each that the configuration sets', (t) => {
  const sources = globSync('envoy/config/*.ts').map((file) => readFileSync(file, 'utf8'));
  const keys = sources.flatMap((text) => Array.from(text.matchAll(KEY), ([, key = '']) => key));
  t.true(keys.includes('http.max_requests_per_io_cycle'));
  const program = readFileSync(ENVOY);
  for (const key of keys) t.true(program.includes(key), key);
  t.false(program.includes('http.max_requests_per_cycle'));
});
