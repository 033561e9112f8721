/** Follows the page "Getting started" word for word, as a caller with an address and a key. */
import { execFile } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { connect, createServer } from 'node:net';
import { promisify } from 'node:util';
import anyTest, { type TestFn } from 'ava';
import { freePorts } from '../support/ports.ts';
import { startTestStack, type TestStack } from '../support/stack.ts';

const test = anyTest as TestFn<TestStack>;
const run = promisify(execFile);
const { tags } = JSON.parse(readFileSync('gen/openapi/openapi.json', 'utf8'));
const page: string = tags[0].description;

test.before(async (t) => {
  t.context = await startTestStack();
});
test.after.always((t) => t.context.close());

function blocks(language: string): string[] {
  return [...page.matchAll(new RegExp(`^\`\`\`${language}\n(.+?)^\`\`\``, 'gms'))].map(([, code = '']) => code);
}

test.serial('Getting started - the commands lead from a key to an order', async (t) => {
  const { rest, key } = t.context;
  const commands = blocks('sh').filter((command) => /^(export|curl)/.test(command));
  const script = commands.join('echo\n').replace('{base_url}', rest.url).replace('pst_…', key);
  const { stdout } = await run('bash', ['-euc', script.replaceAll('curl ', 'curl -s ')]);
  t.deepEqual(
    stdout
      .trim()
      .split('\n')
      .slice(-5)
      .map((line) => JSON.parse(line)),
    [
      [],
      { id: 1, name: 'Cats' },
      { id: 1, name: 'Tom', categoryId: 1, status: 'available' },
      { petId: 1, quantity: 12, status: 'available' },
      { id: 1, petId: 1, quantity: 2, complete: false },
    ],
  );
});

test.serial('Getting started - the program goes on when the service comes back, and orders once', async (t) => {
  const { rest, key } = t.context;
  const { hostname, port } = new URL(rest.url);
  const before = await rest.get('/store/orders');
  const [relayPort = 0] = await freePorts(1);
  const env = { ...process.env, API: `http://127.0.0.1:${relayPort}`, API_KEY: key };
  const program = run(process.execPath, ['--input-type=module', '--eval', blocks('js')[0] ?? ''], { env });
  // Nothing listens at first. Then the first connection ends before its answer.
  const relay = createServer((socket) => {
    const upstream = connect(Number(port), hostname);
    socket.on('error', () => upstream.destroy()).pipe(upstream);
    upstream.on('error', () => socket.destroy());
    if (isFirst) upstream.once('data', () => socket.destroy());
    else upstream.pipe(socket);
    isFirst = false;
  });
  let isFirst = true;
  program.child.stderr?.once('data', () => relay.listen(relayPort, '127.0.0.1'));
  const { stdout, stderr } = await program;
  relay.close();
  t.regex(stdout, /^order \d+: 2 of Tom\n$/);
  t.regex(stderr, /ECONNREFUSED/);
  t.is((await rest.get('/store/orders')).body.length, before.body.length + 1);
  t.is((await rest.get('/categories')).body.length, 2, 'the one of the commands, and one of the program');
});
