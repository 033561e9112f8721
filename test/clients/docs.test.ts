/** Follows docs/clients.md word for word, in an empty folder without the repository. */
import { execFile } from 'node:child_process';
import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import type { ExecutionContext } from 'ava';
import { ROOT } from '../cli/command.ts';
import { findProgram } from '../support/find-program.ts';
import { testUnless } from '../support/programs.ts';
import { startTestStack, type TestStack } from '../support/stack.ts';

interface Context extends TestStack {
  readonly folder: string;
}

const run = promisify(execFile);
const goTest = testWith('go', 'NO GO FOUND, so the client in Go is not tested');
const pythonTest = testWith('python3', 'NO PYTHON FOUND, so the client in Python is not tested');
const test = testUnless<Context>(undefined);

function testWith(program: string, missing: string) {
  return testUnless<Context>(findProgram([program]) === undefined ? missing : undefined);
}

test.before(async (t) => {
  const folder = await mkdtemp(join(tmpdir(), 'petstore-clients-'));
  t.context = { ...(await startTestStack()), folder };
});
test.after.always(async ({ context }) => {
  await rm(context.folder, { recursive: true, force: true });
  await context.close();
});

/** Follows a section of the page in a folder named after its language, and returns the output. */
async function follow(t: ExecutionContext<Context>, section: string, language: string): Promise<string> {
  t.timeout(600_000, 'packages are fetched and compiled');
  const { folder, publicAddress, key } = t.context;
  const page = await readFile(`${ROOT}docs/clients.md`, 'utf8');
  const text = page.split(/^## /m).find((part) => part.startsWith(`${section}\n`)) ?? '';
  const block = (kind: string) =>
    new RegExp(`^\`\`\`${kind}\n(.+?)^\`\`\``, 'ms').exec(text)?.[1]?.replaceAll('127.0.0.1:8080', publicAddress);
  const project = join(folder, language);
  await mkdir(project);
  const program = /`(main\.\w+)`/.exec(text)?.[1] ?? '';
  const files = { [program]: block(language), 'buf.gen.yaml': block('yaml') };
  for (const [name, content] of Object.entries(files)) {
    if (content === undefined) continue;
    await writeFile(join(project, name), content);
  }
  const gobin = join(folder, 'bin');
  const PATH = `${gobin}:${ROOT}node_modules/.bin:${process.env.PATH}`;
  const env = { ...process.env, API_KEY: key, GOBIN: gobin, PATH };
  const { stdout } = await run('bash', ['-euo', 'pipefail', '-c', block('sh') ?? ''], { cwd: project, env });
  return stdout;
}

const PRINTED = /^\d+ Cats\nINVALID_ARGUMENT\ncategory\.name value is required\n$/;

goTest.serial('docs/clients.md - the client in Go, by buf with managed mode', async (t) => {
  t.regex(await follow(t, 'Go', 'go'), PRINTED);
});

pythonTest.serial('docs/clients.md - the client in Python, by grpcio-tools', async (t) => {
  t.regex(await follow(t, 'Python', 'python'), PRINTED);
});

test.serial("docs/clients.md - the browser's client over gRPC-Web, with Node's fetch", async (t) => {
  await follow(t, 'The browser', 'js');
  const project = join(t.context.folder, 'js');
  const { key, publicAddress } = t.context;
  const call = `import * as main from './main.js'; await main.showCategories('${key}', 'http://${publicAddress}');`;
  const { stdout } = await run(process.execPath, ['--input-type=module', '--eval', call], { cwd: project });
  t.regex(stdout, /^\d+n Cats\nInvalidArgument\n$/);
});

test.serial('docs/clients.md - the call over Connect, by buf', async (t) => {
  const { name } = JSON.parse(await follow(t, 'Connect', 'connect'));
  t.is(name, 'Cats');
});
