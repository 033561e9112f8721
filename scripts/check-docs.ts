/**
 * Checks that each link in the Markdown files leads to a file and a heading of this repository, that each path there in
 * backquotes that begins with a folder of it names something, and that the pages for callers say of everything that is
 * beta or experimental that it is, as the options in the proto files do.
 */
import { execFileSync } from 'node:child_process';
import { existsSync, globSync, readFileSync } from 'node:fs';
import { dirname, join, normalize } from 'node:path';

const LINK = /\]\(([^()\s]+)\)/g;
/** A path, or a pattern of some. */
const PATH = /`([\w.-]+\/[\w./{},*@-]*)`/g;
/** What a page says how to make: with the next release, or by a build. */
const MADE = /^(build|data|src\/main\/java)\/|\/1\.1\.0\./;
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

const tracked = execFileSync('git', ['ls-files'], { encoding: 'utf8' }).trim().split('\n');
const folders = new Set(tracked.flatMap((file) => file.split('/').slice(0, -1).slice(0, 1)));
const pages = tracked.filter((file) => file.endsWith('.md'));
for (const page of pages) {
  for (const [, target = ''] of readFileSync(page, 'utf8').matchAll(LINK)) {
    const problem = problemOf(page, target);
    if (problem === undefined) continue;
    process.stderr.write(`${page}: the link to ${target} leads nowhere: ${problem}\n`);
    process.exitCode = 1;
  }
  for (const [, path = ''] of readFileSync(page, 'utf8').matchAll(PATH)) {
    if (!folders.has(path.split('/', 1)[0] ?? '') || MADE.test(path)) continue;
    if ([path, join(dirname(page), path)].some((one) => globSync(one).length > 0)) continue;
    process.stderr.write(`${page}: there is no ${path}\n`);
    process.exitCode = 1;
  }
}

/** What has a marker: operations by id, paths and verbs of which every operation has it, and headers. */
function markedNames(): Map<string, string> {
  const { paths, components } = JSON.parse(readFileSync('gen/openapi/openapi.json', 'utf8')) as Description;
  const all = Object.entries(paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([verb, operation]) => ({ path: path.replace(/\/\{.*/, ''), verb, ...operation })),
  );
  const names = [
    ...all.map((operation) => [operation.operationId, operation] as const),
    ...all.map((operation) => [operation.path, operation] as const),
    ...all.map((operation) => [operation.verb.toUpperCase(), operation] as const),
    ...Object.entries(components.headers),
  ];
  const markersOf = Map.groupBy(names, ([name]) => name);
  return new Map(
    [...markersOf].flatMap(([name, members]) => {
      const [marker, ...others] = new Set(members.map(([, member]) => member['x-stability']));
      return marker === undefined || others.length > 0 ? [] : [[name, marker] as const];
    }),
  );
}

interface Marked {
  readonly 'x-stability'?: string;
}
interface Description {
  readonly paths: Record<string, Record<string, Marked & { readonly operationId: string }>>;
  readonly components: { readonly headers: Record<string, Marked> };
}

const marked = markedNames();
const markers = new Set(marked.values());
/** The pages for callers, but for those that say what a marker is. */
const forCallers = pages.filter(
  (page) => /^(examples\/\w+\/README|docs\/(callers\/|clients?\.md))/.test(page) && !page.endsWith('versions.md'),
);
for (const page of forCallers) {
  const text = readFileSync(page, 'utf8');
  const names = [...marked].filter(([name]) =>
    new RegExp(`(?<![\\w-])${name}(?![\\w-])`, 'i').test(text.replaceAll('$API', ' ')),
  );
  for (const marker of markers) {
    const named = names.filter(([, its]) => its === marker).map(([name]) => name);
    const says = new RegExp(`\\b(is|are)\\s\\[?${marker}\\b`).test(text);
    if (says === named.length > 0) continue;
    process.stderr.write(
      `${page}: ${says ? `it says what is ${marker}, but nothing is` : `say that it is ${marker}: ${named}`}\n`,
    );
    process.exitCode = 1;
  }
}
