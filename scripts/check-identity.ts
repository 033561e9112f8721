/**
 * Checks that what can't read src/identity.ts has the names that are in it: package.json, proto files, deploy/, pages;
 * and that deploy/ has the version of package.json, which `npm run release` writes there.
 */
import { globSync, readFileSync, statSync } from 'node:fs';
import { API_PACKAGE, CLASS_NAME, KEY_PREFIXES, NAME } from '../src/identity.ts';
import { version } from '../src/platform/config/constants.ts';
import { VERSION_PLACES } from './release/version-places.ts';

const PAGES = ['README.md', 'docs/**/*.md'];
const KIT = ['deploy/**/*.*', ...PAGES];

/** The form of a name: it is a part of names of metrics, headers, hosts and files. */
const FORMS: readonly (readonly [string, RegExp])[] = [
  [NAME, /^[a-z]+$/],
  ...Object.values(KEY_PREFIXES).map((prefix) => [prefix, /^[a-z]+_$/] as const),
];

/** Files, the places in them or in their paths where a name stands, and the name. */
const PLACES: readonly (readonly [files: readonly string[], place: RegExp, name: string])[] = [
  [['package.json', 'package-lock.json'], /^ {2}"name": "(.+)"/gm, NAME],
  [['package.json'], /"(\S+)": "(?:bin\/|.* node src\/platform\/cli\/main)/g, NAME],
  [['tsconfig.json', ...PAGES], /['"`/]([a-z]+)-client['"`-]/g, NAME],
  [['bin/*'], /^bin\/(.+)/g, NAME],
  [['proto/**/*.proto'], /^package (?!apiplatform\.)(.+);/gm, API_PACKAGE],
  [KIT, /\b(?!envoy|nodejs|process)([a-z]+)_\w+_(?:total|seconds|bucket|count|sum|rows)\b/g, NAME],
  [KIT, /\b(?:job|job_name|envoy_cluster_name)\\?(?:: |=~?\\?")([a-z]+)/g, NAME],
  [KIT, /\b([a-z]+)\.(?:binpb|sqlite|TakesCalls)\b/g, NAME],
  [KIT, /(?:`x-|\bcluster\.)(?!traces)([a-z]+)(?:-edge`|\.)/g, NAME],
  [KIT, /\/(?:opt|var\/lib|var\/backups)\/(?!caddy|postgresql|prometheus)([a-z]+)/g, NAME],
  [
    ['deploy/**/*.*'],
    /\b(?!redis)([a-z]{2,})-(?:server|edge|envoy|migrate|migration|backup|failed|unavailable)\b/g,
    NAME,
  ],
  [['deploy/systemd/*'], /(?:deploy\/systemd\/|User=|Group=)([a-z]+)/g, NAME],
  [['deploy/systemd/*'], /^Description=(?!Report)(.+?)(?: (?:server|edge|migration|backup)\b.*)?$/gm, CLASS_NAME],
  [['deploy/prometheus/*'], /\balert(?:name)?(?:: |=")([A-Z][a-z]+)/g, CLASS_NAME],
  ...VERSION_PLACES.map(([files, place]) => [[files], place, version()] as const),
  [PAGES, /\bnpm run -s ([a-z]+) --/g, NAME],
  [PAGES, /\b([a-z]+_)(?:…|\[0-9A-Za-z\])/g, KEY_PREFIXES.account],
];

function complain(text: string): void {
  process.stderr.write(`${text}\n`);
  process.exitCode = 1;
}

for (const [name, form] of FORMS) if (!form.test(name)) complain(`src/identity.ts: "${name}" must match ${form}`);
for (const [patterns, place, name] of PLACES) {
  let matched = false;
  for (const file of globSync([...patterns]).filter((path) => statSync(path).isFile())) {
    const text = `${file}\n${readFileSync(file, 'utf8')}`;
    const found = [...text.matchAll(place)];
    matched ||= found.length > 0;
    const [wrong, ...more] = found.filter(([, its]) => its !== name);
    if (wrong === undefined) continue;
    const line = text.slice(0, wrong.index).split('\n').length - 1; // 0: the path
    const others = more.length > 0 ? `, and ${more.length} more` : '';
    complain(`${file}:${line}: "${wrong[1]}" stands where ${name} belongs${others}`);
  }
  if (!matched) complain(`${patterns}: nothing matches ${place}`);
}
