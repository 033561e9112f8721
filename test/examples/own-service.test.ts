/**
 * docs/own-service.md, done: its commands make another service in a copy of the repository, from `examples/harbour`.
 * When it no longer works, mend the page and the sample. CONTRIBUTING's "A resource" names files of it.
 */
import { cpSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import test from 'ava';
import { ROOT } from '../../src/platform/launcher/paths.ts';
import { sh } from '../support/machine/find-program.ts';
import { temporaryFolder } from '../support/machine/folder.ts';

const SAMPLE = join(ROOT, 'examples/harbour');
/** What the copy shares with the repository, and what it does not need. */
const [LINKED, LEFT_OUT] = [
  ['node_modules', '.envoy', '.schemathesis'],
  ['.git', 'build', 'data'],
];

/** What a team writes into src/identity.ts. */
const NAMES = {
  "NAME = 'petstore'": "NAME = 'harbour'",
  "TITLE = 'pet store'": "TITLE = 'harbour'",
  "SUMMARY = 'Pets, their categories, orders for them, and what is in stock.'":
    "SUMMARY = 'Boats, and who rents them.'",
  "API_PACKAGE = 'petstore.v1'": "API_PACKAGE = 'harbour.v1'",
  "account: 'pst_', operator: 'pso_'": "account: 'hbr_', operator: 'hbo_'",
};

/** The commands of the page, by the number of the step. */
const page = readFileSync(join(ROOT, 'docs/own-service.md'), 'utf8');
const STEPS = page.split(/^## (?=\d)/m).slice(1);
const commandsOf = (step: number) => /```sh\n(.*?)```/s.exec(STEPS[step - 1] ?? '')?.[1] ?? 'false';

const CHECKS = [
  'tsc',
  'biome check --error-on-warnings',
  ...['format', 'rooms', 'identity', 'generated', 'breaking', 'openapi', 'docs'].map(
    (name) => `npm run --silent check:${name}`,
  ),
  'buf lint',
  'knip --exclude devDependencies', // those of the deleted tests stay installed
  'buf format proto --diff --exit-code',
];

test('Own service - another shop is at most 25 files by hand, none of them in the platform', (t) => {
  const files = readdirSync(SAMPLE, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map(({ parentPath, name }) => join(parentPath, name).slice(SAMPLE.length + 1));
  t.true(files.length > 0 && files.length < 25, 'and src/identity.ts');
  for (const file of files) t.regex(file, /^(proto\/harbour\/v1|src\/shop|test\/shop|docs)\//);
});

test('Own service - the commands of the page make one that passes the checks and the tests of any shop', async (t) => {
  t.timeout(1_200_000);
  const copy = temporaryFolder(t);
  for (const name of readdirSync(ROOT).filter((one) => !LEFT_OUT.includes(one))) {
    if (LINKED.includes(name)) symlinkSync(join(ROOT, name), join(copy, name));
    else cpSync(join(ROOT, name), join(copy, name), { recursive: true, verbatimSymlinks: true });
  }
  const env = { PATH: `${join(ROOT, 'node_modules/.bin')}:${process.env.PATH}`, HOME: process.env.HOME };
  const run = async (commands: string) => {
    const options = { cwd: copy, env, maxBuffer: 2 ** 26 };
    try {
      return (await sh('bash', ['-euo', 'pipefail', '-c', commands], options)).stdout;
    } catch (error) {
      const { stdout = '', stderr = '' } = error as { stdout?: string; stderr?: string };
      throw new Error(`${commands}\n${stdout}\n${stderr}`);
    }
  };
  const commit = 'git add -A && git -c user.name=test -c user.email=test@localhost commit -qm';
  await run(`git init -q && ${commit} before`);
  await run(commandsOf(1));
  const identity = join(copy, 'src/identity.ts');
  for (const [ours, theirs] of Object.entries(NAMES)) {
    const text = readFileSync(identity, 'utf8');
    t.true(text.includes(ours), ours);
    writeFileSync(identity, text.replace(ours, theirs));
  }
  await run(`git add -A; ${commandsOf(2)}`);
  await run(commandsOf(3));
  await run(commandsOf(4));
  for (const command of CHECKS) await run(command);
  const platform = await run(
    'git add -A; git diff --staged --name-only -- src envoy scripts proto/apiplatform docs-page ":!src/shop"',
  );
  t.deepEqual(platform.trim().split('\n'), ['src/identity.ts']);
});
