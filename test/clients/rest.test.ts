/** A Python client generated from the interface description. For TypeScript see test/rest/description.test.ts. */
import { execFile } from 'node:child_process';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { ROOT } from '../cli/command.ts';
import { findProgram } from '../support/find-program.ts';
import { testUnless } from '../support/programs.ts';
import { startTestStack, type TestStack } from '../support/stack.ts';

interface Context extends TestStack {
  readonly folder: string;
}

const run = promisify(execFile);
const hasPython = findProgram(['python3']) !== undefined;
const test = testUnless<Context>(hasPython ? undefined : 'NO PYTHON FOUND, so the REST client in Python is not tested');

test.before(async (t) => {
  t.context = { ...(await startTestStack()), folder: await mkdtemp(join(tmpdir(), 'petstore-rest-client-')) };
});
test.after.always(async ({ context }) => {
  await rm(context.folder, { recursive: true, force: true });
  await context.close();
});

const INSTALL = [
  ...['-m', 'pip', 'install', '--quiet', '--disable-pip-version-check', '--root-user-action=ignore', '--no-compile'],
  ...['--no-deps', '--require-hashes', '--only-binary=:all:', '-r', join(ROOT, 'test/clients/requirements.txt')],
];

test('openapi-python-client - generates a client without a warning, and the client works', async (t) => {
  t.timeout(600_000, 'packages are fetched');
  const { folder, key, publicAddress } = t.context;
  const env = {
    ...process.env,
    ...{ PYTHONPATH: `${folder}/lib:${folder}`, PYTHONDONTWRITEBYTECODE: '1' },
    ...{ API_KEY: key, BASE_URL: `http://${publicAddress}` },
  };
  const python = async (...args: string[]) => (await run('python3', args, { cwd: folder, env })).stdout;
  await python(...INSTALL, '--target', 'lib');
  await writeFile(join(folder, 'config.yaml'), 'post_hooks: []\n'); // no formatting
  const source = ['--path', join(ROOT, 'gen/openapi/openapi.yaml'), '--output-path', 'petstore'];
  const options = ['--meta', 'none', '--config', 'config.yaml', '--fail-on-warning'];
  t.is(await python('-m', 'openapi_python_client', 'generate', ...source, ...options), 'Generating petstore\n');
  t.deepEqual((await python(join(ROOT, 'test/clients/rest_calls.py'))).trimEnd().split('\n'), [
    'created 201 Tom True',
    'again True true',
    'listed True',
    'chosen True',
    'unchanged 304',
    'changed Tim',
    'ordered 1',
    'refused True 412 PRECONDITION_FAILED',
    'refused True 400 INVALID_ARGUMENT',
    'refused True 404 ORDER_NOT_FOUND',
    'deleted 204',
  ]);
});
