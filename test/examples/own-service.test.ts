/**
 * docs/own-service.md, done: its commands make another service of a clone of the repository, from `examples/harbour`,
 * and merge a later mend. When it no longer works, mend the page, scripts/own.ts and the sample.
 */
import { appendFileSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { extname, join } from 'node:path';
import test from 'ava';
import { ROOT } from '../../src/platform/launcher/paths.ts';
import { sh } from '../support/machine/find-program.ts';
import { postgresMissing } from '../support/machine/postgres.ts';
import { temporaryFolder } from '../support/scope.ts';

const SAMPLE = join(ROOT, 'examples/harbour');

/** What a team writes into src/identity.ts. */
const NAMES = {
  "NAME = 'petstore'": "NAME = 'harbour'",
  "TITLE = 'pet store'": "TITLE = 'harbour of the rented boats'",
  "SUMMARY = 'Pets, their categories, orders for them, and what is in stock.'":
    "SUMMARY = 'Boats, and who rents them.'",
  "API_PACKAGE = 'petstore.v1'": "API_PACKAGE = 'harbour.v1'",
  "['orders']": '[]',
  "account: 'pst_', operator: 'pso_'": "account: 'hbr_', operator: 'hbo_'",
};

/** The commands of the page, in their order: make it, test it, merge. */
const page = readFileSync(join(ROOT, 'docs/own-service.md'), 'utf8');
const [MAKE = '', TEST = '', MERGE = ''] = Array.from(page.matchAll(/```sh\n(.*?)```/gs), ([, commands]) => commands);

/** What a mend upstream may add to a file, by the end of its name. */
const COMMENTS: Readonly<Record<string, string>> = { '.ts': '//', '.sql': '--', '.md': '', '.json': '', '.http': '' };

/** Tests that are the same with any shop, and take long. */
const OF_ANY = /^test\/(deploy|conformance|release|launcher|proxies|hosts|access\/limits)\//;

test('Own service - another shop is at most 25 files by hand, none of them in the platform', (t) => {
  const files = readdirSync(SAMPLE, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map(({ parentPath, name }) => join(parentPath, name).slice(SAMPLE.length + 1));
  t.true(files.length > 0 && files.length <= 25, 'names.json is src/identity.ts there');
  for (const file of files) t.regex(file, /^(proto\/harbour\/v1|src\/shop|test\/shop|docs)\/|^names\.json$/);
});

test('Own service - the page makes one that passes the checks and tests, and loses no later mend', async (t) => {
  t.timeout(1_200_000);
  const [upstream, clone] = [temporaryFolder(t), join(temporaryFolder(t), 'clone')];
  const who = Object.fromEntries(
    ['AUTHOR', 'COMMITTER'].flatMap((role) => [
      [`GIT_${role}_NAME`, 'test'],
      [`GIT_${role}_EMAIL`, 'test@localhost'],
    ]),
  );
  const env = { ...process.env, ...who, PATH: `${join(ROOT, 'node_modules/.bin')}:${process.env.PATH}` };
  const run = async (commands: string, cwd = clone) => {
    try {
      const options = { cwd, env, maxBuffer: 2 ** 26 };
      return (await sh('bash', ['-euo', 'pipefail', '-c', commands], options)).stdout.trim();
    } catch (error) {
      const { stdout = '', stderr = '' } = error as { stdout?: string; stderr?: string };
      throw new Error(`${commands}\n${stdout}\n${stderr}`);
    }
  };
  const linesOf = async (command: string, cwd?: string) => (await run(command, cwd)).split('\n');
  await run(`git -C ${ROOT} ls-files | tar c -C ${ROOT} -T - | tar x && git init -qb main`, upstream);
  await run('git add -A && git commit -qm before', upstream);
  await run(`git clone -q --origin upstream ${upstream} ${clone}`, upstream);
  await run("printf '%s\\n' node_modules .envoy .schemathesis >> .git/info/exclude"); // as links
  for (const name of ['node_modules', '.envoy', '.schemathesis']) symlinkSync(join(ROOT, name), join(clone, name));
  const identity = join(clone, 'src/identity.ts');
  for (const [ours, theirs] of Object.entries(NAMES)) {
    const text = readFileSync(identity, 'utf8');
    t.true(text.includes(ours), ours);
    writeFileSync(identity, text.replace(ours, theirs));
  }
  await run(MAKE);
  await run('npm run --silent check');
  await run(TEST);
  if (postgresMissing === undefined) await run(`TEST_ENGINE=postgres ${TEST}`);
  const left = await linesOf('git ls-files "test/*.test.ts"');
  const areAlone = left.some((file) => file.includes('.alone.'));
  t.is((await run('npm pkg get scripts.test')).includes('--concurrency=1'), areAlone);
  await run(`npx ava ${left.filter((file) => !OF_ANY.test(file) && !TEST.includes(file)).join(' ')}`);
  const platform = 'src envoy scripts proto/apiplatform docs-page ":!src/shop"';
  t.is(await run(`git diff --name-only upstream/main -- ${platform}`), 'src/identity.ts');

  // A mend of every file that has another name or other words in the clone, where the clone has changes of its own.
  const files = await linesOf('git diff --diff-filter=d --name-only upstream/main platform -- bin deploy docs');
  const renamed = (text: string) => text.replaceAll('petstore', 'harbour').replaceAll('Petstore', 'Harbour');
  const ours = await linesOf('git ls-files bin deploy docs', upstream);
  // The page of settings is generated.
  const touched = ours.filter((file) => files.includes(renamed(file)) && !/own-service|settings.md|json$/.test(file));
  t.true(touched.length > 40, 'systemd units, manifests, alerts, pages');
  const mend = (file: string) => `${COMMENTS[extname(file)] ?? '#'} a mend of petstore\n`;
  for (const file of touched) appendFileSync(join(upstream, file), mend(file));
  await run('git commit -qam "Mend all"', upstream);
  await run('git mv deploy/systemd/petstore.service deploy/systemd/petstore-all.service', upstream);
  await run('git commit -qm "Rename one"', upstream);
  await run('npm pkg set description="Boats" && sed -i "1i # ours" deploy/systemd/harbour.sysusers.conf');
  await run('git commit -qam own');
  await run(MERGE);
  for (const file of touched) {
    const its = renamed(file).replace(/systemd\/harbour\.service$/, 'systemd/harbour-all.service');
    const text = readFileSync(join(clone, its), 'utf8');
    t.true(text.endsWith(renamed(mend(file))), its);
    if (its.endsWith('.conf') && its.includes('sysusers')) t.true(text.startsWith('# ours\n'));
  }
  t.is(await run('git status --porcelain'), '');
  t.deepEqual(JSON.parse(await run('npm pkg get description name')), { description: 'Boats', name: 'harbour' });
});
