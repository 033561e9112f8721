/** The checks of names, in a copy: of what can't read src/identity.ts, and of what may have no name of the shop. */
import { spawnSync } from 'node:child_process';
import { cpSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import test from 'ava';
import { ROOT } from '../src/platform/launcher/paths.ts';
import { temporaryFolder } from './support/machine/folder.ts';

const COMPARED = ['package.json', 'package-lock.json', 'src', 'bin', 'proto', 'deploy', 'docs', 'README.md'];
const OTHER = `
export const [NAME, CLASS_NAME, TITLE, API_PACKAGE] = ['harbour', 'Harbour', 'harbour', 'harbour.v1'];
export const KEY_PREFIXES = { account: 'hb', operator: 'hbo_' };
`;
/** A place of each kind. */
const PLACES = [
  'src/identity.ts: "hb" must match /^[a-z]+_$/',
  'package.json: "petstore" stands where src/identity.ts has "harbour"',
  'bin/petstore: "petstore"',
  'proto/petstore/v1/pets.proto: "petstore.v1" stands where src/identity.ts has "harbour.v1"',
  'deploy/systemd/petstore.service: "Pet store" stands where src/identity.ts has "Harbour"',
  'deploy/prometheus/alerts.yml: "petstore"',
  'deploy/kubernetes/base/edge.yaml: "petstore"',
  'docs/client.md: "pst_" stands where src/identity.ts has "hb"',
];

test('Identity - a check names each place that has another name than identity.ts', (t) => {
  const copy = temporaryFolder(t);
  for (const name of [...COMPARED, 'scripts']) cpSync(join(ROOT, name), join(copy, name), { recursive: true });
  writeFileSync(join(copy, 'src/identity.ts'), OTHER);
  const { status, stderr } = spawnSync(process.execPath, ['scripts/check-identity.ts'], {
    cwd: copy,
    encoding: 'utf8',
  });
  t.is(status, 1);
  const found = stderr.replaceAll(/:\d+: /g, ': ');
  for (const place of PLACES) t.true(found.includes(place), `${place}\n${found}`);
});

/** Lines of a file of the platform, and the word that each must not have. */
const WORDS: Readonly<Record<string, string | undefined>> = {
  'const petId = toPetId(1n);': 'pet',
  'interface NewPet {}': 'Pet',
  "'PET_NOT_FOUND'": 'PET',
  '// such as all categories': 'categories',
  "'Petstore_calls'": 'Petstore',
  "import '../../gen/petstore/v1/events.ts';": 'petstore',
  "'pst_1234'": 'pst_',
  '// a competent carpet in a petty order': undefined,
};

test('Identity - a check names each word of the shop in a file outside of it', (t) => {
  const copy = temporaryFolder(t);
  for (const name of ['src', 'scripts', 'package.json'])
    cpSync(join(ROOT, name), join(copy, name), { recursive: true });
  writeFileSync(join(copy, 'src/platform/new.ts'), Object.keys(WORDS).join('\n'));
  const { status, stderr } = spawnSync(process.execPath, ['scripts/check-words.ts'], { cwd: copy, encoding: 'utf8' });
  t.is(status, 1);
  const expected = Object.values(WORDS).map(
    (word, index) => word && `src/platform/new.ts:${index + 1}: "${word}" is a`,
  );
  const lines = stderr.trimEnd().split('\n');
  t.deepEqual(
    lines.map((line) => line.replace(/ word of.*/, '')),
    expected.filter((line) => line !== undefined),
  );
});
