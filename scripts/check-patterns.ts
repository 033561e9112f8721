/**
 * Checks that every pattern takes linear time, whatever the text: recheck judges it for a matcher that goes back and
 * forth. A text of 64 KiB keeps a quadratic one busy for seconds, and nobody else is served meanwhile.
 *
 * These are the patterns of the sources and of the packages that they load, of the Lua files and of the proto files,
 * whichever text they meet. Those of Envoy's configuration are judged for RE2 (patterns/envoy.ts).
 */
import { globSync, readFileSync } from 'node:fs';
import { bodiesToRead } from '../envoy/config/json.ts';
import { loadOperations } from '../src/platform/proto/operations.ts';
import { patternsOfEnvoy, problemOfStates } from './patterns/envoy.ts';
import { problemOf } from './patterns/judge.ts';
import { patternsOfLua, toLiteral } from './patterns/lua.ts';
import { loadPatterns } from './patterns/script.ts';

/**
 * Patterns that Lua gets from elsewhere: sets without a repetition, numbers with spaces between (redis.ts), and those
 * of bodies, which are added below.
 */
const OF_SETTINGS = ['settings.in_bad_host', 'settings.key_pattern', 'USED', 'body.path'];

const found = new Map<string, string>();
const add = (file: string, literals: Iterable<string>) => {
  for (const literal of literals) if (!found.has(literal)) found.set(literal, file);
};

for (const { file, literal } of await loadPatterns('src/**/*.ts')) add(file, [literal]);
for (const file of globSync('{envoy,src}/**/*.lua')) add(file, patternsOfLua(readFileSync(file, 'utf8'), OF_SETTINGS));
const bodies = Object.values(bodiesToRead(loadOperations().byPath.values())).flat();
add(
  'envoy/config/json.ts',
  bodies.map(({ path }) => toLiteral(path)),
);
for (const file of globSync('proto/**/*.proto')) {
  const rules = readFileSync(file, 'utf8').matchAll(/\bpattern: "((?:[^"\\]|\\.)*)"|\.matches\('(.*?)'\)/g);
  // CEL has its texts within those of the proto file, and \x{9f} for \x9f.
  const inCel = (text: string) => text.replaceAll('\\\\', '\\').replaceAll(/\\x\{(\w\w)\}/g, '\\x$1');
  const texts = Array.from(rules, ([, pattern, cel]) => (pattern ?? inCel(cel ?? '')).replaceAll('\\\\', '\\'));
  add(
    file,
    texts.map((text) => String(new RegExp(text, 'u'))),
  );
}

const report = (file: string, problem: string | undefined) => {
  if (problem === undefined) return;
  process.stderr.write(`${file}: ${problem}\n`);
  process.exitCode = 1;
};

for (const [literal, file] of found) report(file, await problemOf(literal));
for (const literal of patternsOfEnvoy()) report('envoy/config', problemOfStates(literal));
