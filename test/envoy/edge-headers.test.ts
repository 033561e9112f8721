/** The table of what Envoy and the server say to each other, against the files that set and read these headers. */
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
