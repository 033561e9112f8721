/** The programs of examples/: each is run as its README says, in a copy of the folder, against a service. */
import { cp, readFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import { extname, join } from 'node:path';
import { ROOT } from '../../src/platform/launcher/paths.ts';
import { noBrowser, startBrowser, watchedPage } from '../support/machine/browser.ts';
import { sh } from '../support/machine/find-program.ts';
import { listen, temporaryFolder } from '../support/scope.ts';
import { testFirstPrograms } from '../support/service/example-programs.ts';
import { type SharedBy, sharing, testUnless } from '../support/service/sharing.ts';
import { startTestStack } from '../support/service/stack.ts';
import { until } from '../support/until.ts';

const TYPES: Readonly<Record<string, string>> = { '.html': 'text/html', '.js': 'text/javascript' };

const test = sharing(undefined, async (t) => {
  const folder = temporaryFolder(t);
  await cp(join(ROOT, 'examples'), folder, { recursive: true });
  /** Has the page of examples/browser, at another origin than the service. */
  const site = createServer(async ({ url = '' }, response) => {
    const file = await readFile(join(folder, 'browser', url)).catch(() => undefined);
    const type = TYPES[extname(url)] ?? 'text/plain';
    response.writeHead(file === undefined ? 404 : 200, { 'content-type': type }).end(file);
  });
  const origin = `http://${await listen(t, site)}`;
  const stack = await startTestStack(t, { CORS_ORIGINS: origin });
  await stack.rest.category('Dogs');
  return { ...stack, folder, origin };
});
type Context = SharedBy<typeof test>;

/** Runs the commands in the README of an example, and returns what they print. */
async function run({ folder, rest, key }: Context, example: string): Promise<string> {
  const cwd = join(folder, example);
  const [, block = 'false'] = /^```(?:ba)?sh\n(.+?)^```/ms.exec(await readFile(join(cwd, 'README.md'), 'utf8')) ?? [];
  const PATH = `${ROOT}/node_modules/.bin:${process.env.PATH}`; // buf is in the repository
  const env = { ...process.env, API: rest.url, API_KEY: key, PATH };
  return (await sh('bash', ['-euo', 'pipefail', '-c', block], { cwd, env })).stdout;
}

test.serial('Examples - curl: the commands of the README print what they should', async (t) => {
  const printed = (await run(t.context, 'curl')).replace(/what is stored has .+ change it/, '…');
  t.deepEqual(printed.split('\n'), [
    '{"id":2,"name":"Cats"}',
    '{"id":2,"name":"Cats"}',
    '304',
    '{"id":2,"name":"Big cats"}',
    '{"code":"PRECONDITION_FAILED","message":"…","status":412}',
    '{"code":"INVALID_ARGUMENT","message":"name: value is required","status":400}',
    '[{"id":1,"name":"Dogs"}]',
    '[{"id":2,"name":"Big cats"}]',
    '',
  ]);
});

testFirstPrograms({ Python: ['python3'], Go: ['go', 'protoc'] });

const browserTest = testUnless<Context>(noBrowser);

browserTest.serial('Examples - browser: the page shows the new category, or the error', async (t) => {
  t.timeout(600_000, 'packages are fetched');
  const { rest, key, origin } = t.context;
  await run(t.context, 'browser');
  const browser = await startBrowser(t);
  const { page } = await watchedPage(browser, {});
  await page.goto(`${origin}/index.html`);
  await page.getByLabel('Address').fill(rest.url);
  await page.getByLabel('API key').fill(key);
  for (const [name, shown] of [
    ['Cats', /^\d+ Cats$/],
    ['', /^InvalidArgument: name: value is required$/],
  ] as const) {
    await page.getByLabel('Name').fill(name);
    await page.getByRole('button').click();
    t.true(await until(async () => shown.test((await page.locator('output').textContent()) ?? ''), String(shown)));
  }
});
