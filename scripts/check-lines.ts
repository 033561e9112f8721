/** Checks that lines have at most 120 columns, as .editorconfig says, and that no file is tracked which is ignored. */
import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { NAME, TITLE } from '../src/identity.ts';

const FILES = ['*.md', '*.y*ml', '*.ts', '*.*js', '*.lua', '*.py', '*.go', '*.sh', ':!gen/*', ':!third_party/*'];
const MAX_COLUMNS = 120;
/** The service's name and title count as no more columns: a longer one wraps no line. */
const NAME_COLUMNS = 8;
/** A longer word, such as a URL or a type of Envoy, can't be wrapped. */
const MAX_WORD = 80;

function isTooLong(line: string): boolean {
  const columns = [
    ...line
      .replaceAll(TITLE, NAME)
      .replace(new RegExp(NAME, 'gi'), 'x'.repeat(Math.min(NAME.length, NAME_COLUMNS)))
      .replaceAll('`upstream:', '`'),
  ].length;
  return columns > MAX_COLUMNS && line.split(' ').every((word) => word.length <= MAX_WORD);
}

const list = (...args: readonly string[]) => {
  return execFileSync('git', ['ls-files', ...args], { encoding: 'utf8' })
    .split('\n')
    .filter(Boolean);
};
// A link to another tree's packages, for one, would replace the folder there.
for (const file of list('--cached', '--ignored', '--exclude-standard')) {
  process.stderr.write(`${file}: .gitignore names it, so it may not be tracked: git rm --cached ${file}\n`);
  process.exitCode = 1;
}
const files = list(...FILES);
for (const file of files) {
  for (const [index, line] of readFileSync(file, 'utf8').split('\n').entries()) {
    if (!isTooLong(line)) continue;
    process.stderr.write(`${file}:${index + 1}: the line has more than ${MAX_COLUMNS} columns\n`);
    process.exitCode = 1;
  }
}
