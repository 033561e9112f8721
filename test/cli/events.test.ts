/** `petstore events tail` against a real server. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { writeFile } from 'node:fs/promises';
import anyTest, { type ExecutionContext, type TestFn } from 'ava';
import { createDataDir, type ServerProcess, startServerProcess } from '../support/process.ts';
import { until } from '../support/until.ts';
import { ROOT, run } from './command.ts';

interface Context {
  readonly server: ServerProcess;
  readonly settings: Readonly<Record<string, string>>;
  readonly remove: () => Promise<void>;
}
type Test = ExecutionContext<Context>;
const test = anyTest as TestFn<Context>;

test.beforeEach(async (t) => {
  const { path, remove } = await createDataDir();
  const server = await startServerProcess(path);
  const [, port = ''] = server.address.split(':');
  t.context = { server, settings: { GRPC_PORT: port, DATA_DIR: path, API_KEY: server.key }, remove };
});
test.afterEach.always(async ({ context: { server, remove } }) => {
  server.grpc.close();
  await server.end('SIGKILL');
  await remove();
});

/** Starts the command, which runs until it is interrupted. */
function start(t: Test, ...args: string[]) {
  const env = { PATH: process.env.PATH ?? '', ...t.context.settings };
  const child = spawn(process.execPath, [`${ROOT}src/cli/main.ts`, 'events', 'tail', ...args], { env });
  const output = { lines: [] as string[], errors: '' };
  let text = '';
  child.stdout.on('data', (chunk: Buffer) => {
    text += chunk.toString();
    output.lines = text.split('\n').slice(0, -1);
  });
  child.stderr.on('data', (chunk: Buffer) => {
    output.errors += chunk.toString();
  });
  const ended = once(child, 'close').then(([code]) => code);
  t.teardown(() => child.kill('SIGKILL'));
  return {
    child,
    output,
    ended,
    until: (count: number) => until(() => output.lines.length >= count, `${count} lines`),
  };
}

test('Events tail - prints a line for each event; Ctrl-C ends it cleanly', async (t) => {
  const { grpc } = t.context.server;
  await grpc.category('A name');
  const tail = start(t, '--after', '0');
  await tail.until(1);
  await grpc.pet({ stock: 2 });
  await tail.until(4);
  tail.child.kill('SIGINT');
  t.deepEqual([await tail.ended, tail.output.errors], [0, '']);
  const time = '\\d{4}-\\d\\d-\\d\\dT\\d\\d:\\d\\d:\\d\\d(\\.\\d+)?Z';
  const [created, , pet, stock] = tail.output.lines;
  t.regex(created ?? '', new RegExp(`^1  ${time}  category.created  {"category":{"id":1,"name":".*"}}$`));
  t.regex(pet ?? '', new RegExp(`^3  ${time}  pet.created  {"pet":{"id":1,.*},"inventory":{.*"quantity":0,.*}}$`));
  t.regex(stock ?? '', new RegExp(`^4  ${time}  pet.updated  {"pet":{"id":1,.*},"inventory":{.*"quantity":2,.*}}$`));
  t.is(tail.output.lines.length, 4);
});

test('Events tail - --json prints the same JSON as GET /events, and --types selects', async (t) => {
  const { grpc } = t.context.server;
  await grpc.pet();
  const tail = start(t, '--after', '0', '--json', '--types', 'pet.created', 'order.created');
  await tail.until(1);
  await grpc.order({ quantity: 3 });
  await tail.until(2);
  tail.child.kill('SIGINT');
  t.is(await tail.ended, 0);
  const [pet, order] = tail.output.lines.map((line) => JSON.parse(line));
  t.like(pet, { id: 2, type: 'pet.created', pet: { id: 1, status: 'available' }, inventory: { quantity: 0 } });
  t.like(order, { id: 3, type: 'order.created', order: { id: 1, quantity: 3, complete: false } });
});

test('Events tail - goes on by itself after the end of the server, without a gap or a repetition', async (t) => {
  const { server, settings } = t.context;
  await server.grpc.category();
  const tail = start(t, '--after', '0');
  await tail.until(1);
  server.grpc.close();
  await server.end('SIGKILL');
  const next = await startServerProcess(server.dataDir, { GRPC_PORT: settings.GRPC_PORT ?? '' });
  t.context = { ...t.context, server: Object.assign(next, { grpc: server.grpc.withKey(server.key) }) };
  await t.context.server.grpc.category();
  await tail.until(2);
  tail.child.kill('SIGINT');
  t.deepEqual([await tail.ended, tail.output.errors], [0, '']);
  t.deepEqual(
    tail.output.lines.map((line) => line.split(' ')[0]),
    ['1', '2'],
  );
});

test('Events tail - ends without an error when the reader of its output has left', async (t) => {
  const { grpc } = t.context.server;
  await grpc.category();
  const tail = start(t, '--after', '0');
  await tail.until(1);
  tail.child.stdout.destroy();
  await grpc.category();
  t.deepEqual([await tail.ended, tail.output.errors], [0, '']);
});

test('Events tail - says what is wrong from the start, and ends', async (t) => {
  const { settings, server } = t.context;
  const tail = async (env: Readonly<Record<string, string>>, ...args: string[]) => {
    const line = [`${ROOT}src/cli/main.ts`, 'events', 'tail', ...args];
    const { exitCode, stdout, stderr } = await run(process.execPath, line, { ...settings, ...env });
    t.is(stdout, '');
    return [exitCode, stderr.trim().replace(/^petstore: /, '')] as const;
  };
  const needed = 'an API key is needed: set API_KEY, or name a file that has one with --key-file';
  t.deepEqual(await tail({ API_KEY: '' }), [1, needed]);
  const away = (await tail({}, '--address', '127.0.0.1:1'))[1];
  t.regex(away, /^nothing answers at 127\.0\.0\.1:1: start the service with "npm start", or name another --address/);
  const invalid = 'the API key is not valid: it is unknown, revoked or expired';
  t.deepEqual(await tail({ API_KEY: 'pst_wrong' }), [1, invalid]);
  const file = `${server.dataDir}/a.key`;
  await writeFile(file, 'pst_wrong\n');
  t.deepEqual(await tail({}, '--key-file', file), [1, invalid]);
  t.regex((await tail({}, '--key-file', `${file}s`))[1], /^the API key can't be read: ENOENT/);
  t.deepEqual(await tail({}, '--after', '99'), [2, '--after 99 has not been reached: the newest event is 0']);
  t.regex((await tail({}, '--types', 'pet.sold'))[1], /^--types must be in list \[pet\.created, /);
});
