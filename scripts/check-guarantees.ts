/** Checks that each promise in docs/guarantees.md is the title of a test, or a sentence above such titles. */
import { globSync, readFileSync } from 'node:fs';

const PAGE = 'docs/guarantees.md';
/** The first argument of a call: a title, which has a dash. */
const TITLE = /\(\s*(?:'((?:[^'\\\n]|\\.)*? - (?:[^'\\\n]|\\.)*)'|"([^"\n]*? - [^"\n]*)"|`([^`]*? - [^`]*)`)/g;
const GAP = /\$\{[^}]*\}/g;
/** A test in the page, with the file if there are several of the same title. */
const NAMED = /^(?: {2})?- `([^`]+ - [^`]+)`(?: \((\S+)\))?$/;

/** What a title in a test matches. A template has any text in its gaps. */
function toPattern(text: string, isTemplate: boolean): RegExp {
  const parts = isTemplate ? text.split(GAP) : [text.replaceAll(/\\(.)/g, '$1')];
  return new RegExp(`^${parts.map((part) => part.replace(/[$()*+.?[\\\]^{|}]/g, '\\$&')).join('.+')}$`);
}

const titles = globSync('test/**/*.ts').flatMap((file) =>
  [...readFileSync(file, 'utf8').matchAll(TITLE)]
    .filter(([, single, double, template = '']) => single ?? double ?? /\w{5}/.test(template.replaceAll(GAP, '')))
    .map(([, single, double, template]) => ({
      file: file.slice('test/'.length),
      pattern: toPattern(single ?? double ?? template ?? '', template !== undefined),
    })),
);

function problemOf(title: string, file: string | undefined): string | undefined {
  const found = titles.filter((one) => one.pattern.test(title) && (file === undefined || one.file === file));
  if (found.length === 0) return 'there is no such test';
  return found.length > 1 ? `several files have it: ${found.map((one) => one.file).join(', ')}` : undefined;
}

function complain(line: number, text: string): void {
  process.stderr.write(`${PAGE}:${line}: ${text}\n`);
  process.exitCode = 1;
}

const lines = readFileSync(PAGE, 'utf8').split('\n');
for (const [index, line] of lines.entries()) {
  const [, title, file] = NAMED.exec(line) ?? [];
  const problem = title === undefined ? undefined : problemOf(title, file);
  if (problem !== undefined) complain(index + 1, `${title}: ${problem}`);
  if (!line.startsWith('- ') || title !== undefined) continue;
  const next = lines.slice(index + 1).find((other) => !/^ {2}\S/.test(other) || other.startsWith('  - ')) ?? '';
  if (!next.startsWith('  ') || !NAMED.test(next)) complain(index + 1, 'no test is named for this promise');
}
