/** Follows docs/clients.md, and what callers read of gRPC, word for word, in an empty folder without the repository. */
import { execFile } from 'node:child_process';
import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { createServer, type Server } from 'node:http';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import type { ExecutionContext } from 'ava';
import { ROOT } from '../../src/platform/launcher/paths.ts';
import { buildPrograms, GRPCURL } from '../conformance/programs.ts';
import { browserTest, startBrowser } from '../support/machine/browser.ts';
import { findProgram } from '../support/machine/find-program.ts';
import { listen } from '../support/machine/ports.ts';
import { testUnless } from '../support/machine/programs.ts';
import { type FollowingProgram, missesNothing, runFollower } from '../support/service/following-programs.ts';
import { startTestStack, type TestStack } from '../support/service/stack.ts';

interface Context extends TestStack {
  readonly folder: string;
  /** Has the pages of another origin. */
  readonly site: Server;
  readonly origin: string;
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
  const site = createServer();
  const origin = `http://${await listen(site)}`;
  t.context = { ...(await startTestStack({ CORS_ORIGINS: origin })), folder, site, origin };
});
test.after.always(async ({ context }) => {
  context.site.close();
  await rm(context.folder, { recursive: true, force: true });
  await context.close();
});

/** The commands of a section of the page. Its files are written into a folder that is named after the language. */
async function prepare({ folder, publicAddress, key }: Context, section: string, language: string) {
  const page = await readFile(`${ROOT}/docs/clients.md`, 'utf8');
  const text = page.split(/^##+ /m).find((part) => part.startsWith(`${section}\n`)) ?? '';
  const block = (kind: string) =>
    new RegExp(`^\`\`\`${kind}\n(.+?)^\`\`\``, 'ms').exec(text)?.[1]?.replaceAll('127.0.0.1:8080', publicAddress);
  const project = join(folder, language);
  const program = /`((?:\w+\/)?(?:main|follow|events)\.\w+)`/.exec(text)?.[1] ?? '';
  const files = { [program]: block(language), 'buf.gen.yaml': block('yaml') };
  await mkdir(join(project, dirname(program)), { recursive: true });
  for (const [name, content] of Object.entries(files)) {
    if (content === undefined) continue;
    await writeFile(join(project, name), content);
  }
  const gobin = join(folder, 'bin');
  const PATH = `${gobin}:${ROOT}/node_modules/.bin:${process.env.PATH}`;
  const env = { ...process.env, API_KEY: key, GOBIN: gobin, PATH };
  // As the page has it, pyenv writes its own folder anew afterwards, which fails when two do so at once.
  const commands = block('sh')?.replaceAll('python3 -m pip ', 'python3 -mpip ') ?? '';
  return { commands, project, env };
}

/** Follows a section of the page, and returns the output. */
async function follow(t: ExecutionContext<Context>, section: string, language: string): Promise<string> {
  t.timeout(600_000, 'packages are fetched and compiled');
  const { commands, project, env } = await prepare(t.context, section, language);
  const { stdout } = await run('bash', ['-euo', 'pipefail', '-c', commands], { cwd: project, env });
  return stdout;
}

/** Follows the feed with a section's program. Its language's first section has been followed. */
async function followEvents(t: ExecutionContext<Context>, section: string, language: string): Promise<void> {
  const { commands, project, env } = await prepare(t.context, section, language);
  await missesNothing(t, t.context, () => runFollower(commands, project, env));
}

const PRINTED = /^\d+ Cats\nINVALID_ARGUMENT\ncategory\.name value is required\n$/;

goTest.serial('docs/clients.md - the client in Go, by buf with managed mode', async (t) => {
  t.regex(await follow(t, 'Go', 'go'), PRINTED);
});

pythonTest.serial('docs/clients.md - the client in Python, by grpcio-tools', async (t) => {
  t.regex(await follow(t, 'Python', 'python'), PRINTED);
});

/** The commands of "Getting started" that begin with a program, and what they need beside the page's variables. */
async function gettingStarted({ context }: ExecutionContext<Context>, program: string, language: string) {
  const { project, env } = await prepare(context, '', language);
  const page = await readFile(`${ROOT}/docs/callers/getting-started.md`, 'utf8');
  const commands = new RegExp(`^\`\`\`sh\n(${program} .+?)^\`\`\``, 'ms').exec(page)?.[1] ?? 'false';
  return { commands, project, env: { ...env, API: context.rest.url } };
}

goTest.serial('Getting started - the call by grpcurl works as it stands, and shows the code of an error', async (t) => {
  t.timeout(600_000, 'grpcurl is compiled');
  const { commands, project, env } = await gettingStarted(t, 'grpcurl', 'grpcurl');
  env.PATH = `${await buildPrograms(GRPCURL)}:${env.PATH}`;
  const options = { cwd: project, env };
  const { stdout } = await run('bash', ['-euc', commands], options);
  t.notThrows(() => JSON.parse(stdout));
  const wrongKey = { ...options, env: { ...env, API_KEY: 'pst_wrong' } };
  const refused = await run('bash', ['-euc', `! ${commands}`], wrongKey);
  t.regex(refused.stderr, /Code: Unauthenticated\n[\s\S]+"reason": "API_KEY_INVALID"/);
});

pythonTest.serial('Getting started - the commands for Python generate what a program imports', async (t) => {
  const { commands, project, env } = await gettingStarted(t, 'python3', 'started');
  const withPackages = { cwd: project, env: { ...env, PYTHONPATH: `${join(t.context.folder, 'python/lib')}:.` } };
  const withoutFetching = commands.replace(/^.* pip install .*$/m, '');
  t.not(withoutFetching, commands);
  await run('bash', ['-euc', `${withoutFetching} python3 -c 'import petstore.v1.orders_pb2_grpc'`], withPackages);
  t.pass();
});

test.serial('docs/clients.md - the client on Node, by the descriptors alone', async (t) => {
  t.regex(await follow(t, 'Plain Node', 'mjs'), /^\d+ Cats\nINVALID_ARGUMENT name: value is required\n$/m);
});

goTest.serial('docs/clients.md - the program in Go gets each event once, whatever server or Envoy ends', (t) =>
  followEvents(t, 'Events in Go', 'go'),
);

pythonTest.serial('docs/clients.md - the program in Python gets each event once, whatever server or Envoy ends', (t) =>
  followEvents(t, 'Events in Python', 'python'),
);

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

browserTest<Context>().serial(
  'docs/clients.md - a page in a browser gets each event once, through the ends of servers and Envoy',
  async (t) => {
    const { key, rest, site, origin } = t.context;
    const { project } = await prepare(t.context, 'Events in the browser', 'js');
    site.on('request', async ({ url }, response) => {
      const isCode = url === '/events.js';
      response.setHeader('content-type', isCode ? 'text/javascript' : 'text/html');
      response.end(isCode ? await readFile(join(project, 'events.js')) : '<!doctype html><title>A shop</title>');
    });
    const browser = await startBrowser();
    t.teardown(() => browser.close());
    const context = await browser.newContext();
    await missesNothing(t, t.context, async (): Promise<FollowingProgram> => {
      const page = await context.newPage();
      await page.goto(origin);
      const lines: string[] = [];
      await page.exposeFunction('show', (line: string) => lines.push(line));
      const script = `import('/events.js').then(async ({ followEvents }) => {
        for await (const { id, type } of followEvents('${key}', '${rest.url}')) await show(id + ' ' + type);
      }).catch(({ code, message }) => { throw new Error(code + ': ' + message); })`;
      const ended = page.evaluate(script).then(() => 'it has ended', String);
      return {
        lines: async () => lines,
        cursor: async () => Number(await page.evaluate("localStorage.getItem('cursor')")),
        ended: () => ended,
        kill: () => page.close(),
      };
    });
  },
);
