/** Checks the Markdown files: a link leads to a file and heading of this repository, a line has at most 120 columns. */
import { execFileSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { dirname, join, normalize } from 'node:path';

const LINK = /\]\(([^()\s]+)\)/g;
const MAX_COLUMNS = 120;
const HEADING = /^#+ (.+)$/gm;
/** What GitHub leaves out of a heading's anchor. */
const NOT_IN_ANCHOR = /[^\p{L}\p{N}_\- ]/gu;

function anchorsOf(page: string): Set<string> {
  const headings = [...readFileSync(page, 'utf8').matchAll(HEADING)].map(([, text = '']) => text);
  return new Set(headings.map((text) => text.toLowerCase().replace(NOT_IN_ANCHOR, '').trim().replaceAll(' ', '-')));
}

/** Says what is wrong with a link; undefined when it is fine. */
function problemOf(page: string, target: string): string | undefined {
  if (/^[a-z]+:/.test(target)) return undefined; // another site's
  const [path = '', anchor] = target.split('#', 2);
  const file = path === '' ? page : normalize(join(dirname(page), path));
  if (!existsSync(file)) return 'there is no such file';
  if (anchor === undefined || !file.endsWith('.md') || anchorsOf(file).has(anchor)) return undefined;
  return `${file} has no such heading`;
}

const pages = execFileSync('git', ['ls-files', '*.md'], { encoding: 'utf8' }).trim().split('\n');
for (const page of pages) {
  const text = readFileSync(page, 'utf8');
  for (const [, target = ''] of text.matchAll(LINK)) {
    const problem = problemOf(page, target);
    if (problem !== undefined) report(page, `the link to ${target} leads nowhere: ${problem}`);
  }
  for (const [index, line] of text.split('\n').entries()) {
    if (isTooLong(line)) report(`${page}:${index + 1}`, `the line has more than ${MAX_COLUMNS} columns`);
  }
}

/** A single long word, such as a link, can't be broken. */
function isTooLong(line: string): boolean {
  return [...line].length > MAX_COLUMNS && line.trim().includes(' ');
}

function report(place: string, problem: string): void {
  process.stderr.write(`${place}: ${problem}\n`);
  process.exitCode = 1;
}
