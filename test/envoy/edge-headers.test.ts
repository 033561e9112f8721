/** The table of what Envoy and the server say to each other, against the files that set and read these headers. */
import { globSync, readFileSync } from 'node:fs';
import { basename } from 'node:path';
import test from 'ava';
import { EDGE_TABLE } from '../../src/platform/edge-headers.ts';

const TABLE = 'src/platform/edge-headers.ts';
const files = globSync(['src/**/*.ts', 'envoy/**/*.{ts,lua}'], { exclude: ['envoy/test/**', TABLE] });
const textOf = new Map(files.map((path) => [path, readFileSync(path, 'utf8')]));

function namedIn(key: string): string[] {
  const inLua = key.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
  const name = new RegExp(`\\bEDGE_HEADERS\\.${key}\\b|\\b(?:HEADERS|settings\\.headers)\\.${inLua}\\b`);
  return files.filter((path) => name.test(textOf.get(path) ?? '')).map((path) => basename(path));
}

for (const [key, [way, setBy, readBy, decides]] of Object.entries(EDGE_TABLE)) {
  test(`Headers between Envoy and the server - ${key}, ${way}, is named in the files that set and read it`, (t) => {
    const why = `${key} is set by ${setBy} and read by ${readBy}. It decides: ${decides}`;
    t.deepEqual(namedIn(key).toSorted(), [...setBy.split(' '), ...readBy.split(' ')].toSorted(), why);
  });
}
