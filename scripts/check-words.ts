/**
 * Checks that only the shop and src/identity.ts have the shop's words: the names of the service, and those of its
 * resources, each of which has a folder in src/shop. Code takes the names from identity.ts.
 */
import { globSync, readdirSync, readFileSync } from 'node:fs';
import { API_PACKAGE, COMMON_WORDS, KEY_PREFIXES, NAME } from '../src/identity.ts';

const FILES = ['src/**/*.*', 'envoy/**/*.*', 'scripts/**/*.*', 'docs-page/*'];
const OWN = /^src\/(shop\/|identity\.ts$)/;
const LEFT_OUT = ['migrations', ...COMMON_WORDS];

const resources = readdirSync('src/shop', { withFileTypes: true })
  .filter((entry) => entry.isDirectory() && !LEFT_OUT.includes(entry.name))
  .map(({ name }) => name.replace(/ies$|y$/, '(?:y|ies)').replace(/s$/, 's?'));
const name = COMMON_WORDS.includes(NAME) ? [] : [`(?i:${NAME})`];
const names = [...name, API_PACKAGE.replaceAll('.', '[./]'), ...Object.values(KEY_PREFIXES)];
/** In texts, and in names that are written in several words. */
const words = new RegExp(
  [
    ...names,
    ...resources.flatMap((word) => [
      `\\b${word}(?![a-z])`,
      `${word.charAt(0).toUpperCase()}${word.slice(1)}(?![a-z])`,
      `(?<![A-Z])${word.toUpperCase()}(?![A-Z])`,
    ]),
  ].join('|'),
  'g',
);

for (const file of globSync(FILES).filter((path) => !OWN.test(path))) {
  for (const [index, line] of readFileSync(file, 'utf8').split('\n').entries()) {
    const [found] = line.match(words) ?? [];
    if (found === undefined) continue;
    process.stderr.write(`${file}:${index + 1}: "${found}" is a word of the shop: see src/identity.ts\n`);
    process.exitCode = 1;
  }
}
