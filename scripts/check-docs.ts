/** Checks that each link in the Markdown files leads to a file and a heading of this repository. */
import { execFileSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { dirname, join, normalize } from 'node:path';

const LINK = /\]\(([^()\s]+)\)/g;
const HEADING = /^#+ (.+)$/gm;
/** The characters that GitHub removes from a heading for its anchor. */
const NOT_IN_ANCHOR = /[^\p{L}\p{N}_\- ]/gu;

function anchorsOf(page: string): Set<string> {
  const headings = [...readFileSync(page, 'utf8').matchAll(HEADING)].map(([, text = '']) => text);
  return new Set(headings.map((text) => text.toLowerCase().replace(NOT_IN_ANCHOR, '').trim().replaceAll(' ', '-')));
}

/** Returns what is wrong with a link; undefined if it is correct. */
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
  for (const [, target = ''] of readFileSync(page, 'utf8').matchAll(LINK)) {
    const problem = problemOf(page, target);
    if (problem === undefined) continue;
    process.stderr.write(`${page}: the link to ${target} leads nowhere: ${problem}\n`);
    process.exitCode = 1;
  }
}
