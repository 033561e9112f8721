/**
 * The table of what Envoy and the server say to each other, against the files that set and read these headers. And the
 * runtime keys, against Envoy, which takes any, and ignores one that it does not know.
 */
import { globSync, readFileSync } from 'node:fs';
import { basename } from 'node:path';
import test from 'ava';
import { EDGE_TABLE } from '../../src/platform/edge-headers.ts';

const TABLE = 'src/platform/edge-headers.ts';
const files = globSync(['src/**/*.ts', 'envoy/**/*.{ts,lua}'], { exclude: ['envoy/test/**', TABLE] });
const textOf = new Map(files.map((path) => [path, readFileSync(path, 'utf8')]));

const inLua = (key: string) => key.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);

function namedIn(key: string): string[] {
  const name = new RegExp(`\\bEDGE_HEADERS\\.${key}\\b|\\b(?:HEADERS|settings\\.headers)\\.${inLua(key)}\\b`);
  return files.filter((path) => name.test(textOf.get(path) ?? '')).map((path) => basename(path));
}

for (const [key, [way, setBy, readBy, decides]] of Object.entries(EDGE_TABLE)) {
  test(`Headers between Envoy and the server - ${key}, ${way}, is named in the files that set and read it`, (t) => {
    const why = `${key} is set by ${setBy} and read by ${readBy}. It decides: ${decides}`;
    t.deepEqual(namedIn(key).toSorted(), [...setBy.split(' '), ...readBy.split(' ')].toSorted(), why);
  });
}

test('Headers between Envoy and the server - Lua names no other, which would be nil there', (t) => {
  const known = Object.keys(EDGE_TABLE).map(inLua);
  const lua = [...textOf].filter(([path]) => path.endsWith('.lua')).map(([, text]) => text);
  const named = Array.from(lua.join().matchAll(/\b(?:HEADERS|settings\.headers)\.(\w+)/g), ([, name = '']) => name);
  t.deepEqual(
    [...new Set(named)].filter((name) => !known.includes(name)),
    [],
  );
});

/** Runtime keys of Envoy as `layered_runtime` sets them; other names are Envoy's extensions, which it checks. */
const KEY = /^\s+'((?!envoy\.)\w+(?:\.\w+)+)': /gm;
const ENVOY = '.envoy/envoy/_bin/envoy';

test('Runtime keys - the pinned Envoy has each that the configuration sets', (t) => {
  const sources = [...textOf].filter(([path]) => path.startsWith('envoy/config/'));
  const keys = sources.flatMap(([, text]) => Array.from(text.matchAll(KEY), ([, key = '']) => key));
  t.true(keys.includes('http.max_requests_per_io_cycle'));
  const program = readFileSync(ENVOY);
  for (const key of keys) t.true(program.includes(key), key);
  t.false(program.includes('http.max_requests_per_cycle'));
});
