/** `petstore events tail` against a real server. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { writeFile } from 'node:fs/promises';
import type { ExecutionContext } from 'ava';
import type { TestServer } from '../support/server.ts';
import { serverTest } from '../support/shared-stack.ts';
import { until } from '../support/until.ts';
import { MAIN, petstore, type Settings, settingsOf } from './command.ts';

const test = serverTest();

/** Starts the command, which runs until it is interrupted. */
function start(t: ExecutionContext<TestServer>, ...args: string[]) {
  const env = { PATH: process.env.PATH ?? '', ...settingsOf(t.context), API_KEY: t.context.key };
  const child = spawn(process.execPath, [MAIN, 'events', 'tail', ...args], { env });
  const output = { text: '', errors: '' };
  child.stdout.on('data', (chunk: Buffer) => (output.text += chunk));
  child.stderr.on('data', (chunk: Buffer) => (output.errors += chunk));
  const closed = once(child, 'close');
  t.teardown(() => child.kill('SIGKILL'));
  const lines = () => output.text.split('\n').slice(0, -1);
  return {
    child,
    /** Waits for so many lines. */
    until: (count: number) => until(() => (lines().length >= count ? lines() : undefined), `${count} lines`),
    async isInterrupted() {
      child.kill('SIGINT');
      t.deepEqual([(await closed)[0], output.errors], [0, '']);
      return lines();
    },
    async endsCleanly() {
      t.deepEqual([(await closed)[0], output.errors], [0, '']);
    },
  };
}

test.serial('Events tail - prints a line for each event, or the JSON of GET /events, until Ctrl-C', async (t) => {
  const { grpc } = t.context;
  const asJson = start(t, '--after', '0', '--json', '--types', 'pet.created', 'order.created');
  const tail = start(t, '--after', '0');
  await grpc.pet({ stock: 2 });
  await tail.until(3);
  await asJson.until(1);
  await grpc.order({ quantity: 3 });
  await asJson.until(2);
  await tail.until(4);
  const [pet, order] = (await asJson.isInterrupted()).map((line) => JSON.parse(line));
  t.like(pet, { id: 2, type: 'pet.created', pet: { id: 1, status: 'available' }, inventory: { quantity: 0 } });
  t.like(order, { id: 4, type: 'order.created', order: { id: 1, quantity: 3, complete: false } });
  const time = '\\d{4}-\\d\\d-\\d\\dT\\d\\d:\\d\\d:\\d\\d(\\.\\d+)?Z';
  const [created = '', , stock = '', ...more] = await tail.isInterrupted();
  t.regex(created, new RegExp(`^1  ${time}  category.created  {"category":{"id":1,"name":".*"}}$`));
  t.regex(stock, new RegExp(`^3  ${time}  pet.updated  {"pet":{"id":1,.*},"inventory":{.*"quantity":2,.*}}$`));
  t.is(more.length, 1);
});

test.serial('Events tail - ends without an error when the reader of its output has left', async (t) => {
  const tail = start(t, '--after', '0');
  await tail.until(1);
  tail.child.stdout.destroy();
  const create = async () => {
    await t.context.grpc.category();
    return tail.child.exitCode !== null;
  };
  // Not always at the first event: a process that another test starts has a copy of the pipe for a moment.
  await until(create, 'the end of the command');
  await tail.endsCleanly();
});

test.serial('Events tail - says what is wrong from the start, and ends', async (t) => {
  const settings = settingsOf(t.context);
  const command = petstore({ ...settings, API_KEY: t.context.key });
  const file = `${settings.DATA_DIR}/a.key`;
  await writeFile(file, 'pst_wrong\n');
  const invalid = 'the API key is not valid: it is unknown, revoked or expired';
  const away = /^nothing answers at 127\.0\.0\.1:1: start the service with "npm start", or name another --address/;
  const cases: readonly (readonly [number, string | RegExp, Settings, string])[] = [
    [1, 'an API key is needed: set API_KEY, or name a file that has one with --key-file', { API_KEY: '' }, ''],
    [1, away, {}, '--address 127.0.0.1:1'],
    [1, invalid, { API_KEY: 'pst_wrong' }, ''],
    [1, invalid, {}, `--key-file ${file}`],
    [1, /^the API key can't be read: ENOENT/, {}, `--key-file ${file}s`],
    [2, /^--after 99 has not been reached: the newest event is \d+$/, {}, '--after 99'],
    [2, /^--types must be in list \[pet\.created, /, {}, '--types pet.sold'],
  ];
  for (const [expected, message, env, line] of cases) {
    const { exitCode, stdout, stderr } = await command(`events tail ${line}`.trim().split(' '), env);
    const said = /^petstore: (.+)\n$/.exec(stderr)?.[1] ?? '';
    t.deepEqual([exitCode, stdout], [expected, ''], stderr);
    if (typeof message === 'string') t.is(said, message);
    else t.regex(said, message);
  }
});
