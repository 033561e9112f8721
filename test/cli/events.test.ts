/** `petstore events tail` against a real server. A session of the docs shows its text. */
import { writeFile } from 'node:fs/promises';
import type { ExecutionContext } from 'ava';
import { Program } from '../support/process.ts';
import type { TestServer } from '../support/server.ts';
import { serverTest } from '../support/shared-stack.ts';
import { until } from '../support/until.ts';
import { MAIN, petstore, type Settings, settingsOf } from './command.ts';

const test = serverTest();

/** Starts the command, which runs until it is interrupted. */
function start(t: ExecutionContext<TestServer>, ...args: string[]): Program {
  const env = { ...process.env, ...settingsOf(t.context), API_KEY: t.context.key };
  const tail = new Program(process.execPath, [MAIN, 'events', 'tail', '--after', '0', ...args], { env });
  t.teardown(() => tail.process.kill('SIGKILL'));
  return tail;
}

async function endsCleanly(t: ExecutionContext<TestServer>, tail: Program): Promise<void> {
  t.deepEqual([(await tail.ended).code, tail.errors], [0, '']);
}

test.serial('Events tail - prints the JSON of GET /events until Ctrl-C', async (t) => {
  const { grpc } = t.context;
  const tail = start(t, '--json', '--types', 'pet.created', 'order.created');
  await grpc.pet({ stock: 2 });
  await tail.says(/\n/);
  await grpc.order({ quantity: 3 });
  await tail.says(/\n.*\n/);
  tail.process.kill('SIGINT');
  await endsCleanly(t, tail);
  const [pet, order] = tail.output.split('\n', 2).map((line) => JSON.parse(line));
  t.like(pet, { id: 2, type: 'pet.created', pet: { id: 1, status: 'available' }, inventory: { quantity: 0 } });
  t.like(order, { id: 4, type: 'order.created', order: { id: 1, quantity: 3, complete: false } });
});

test.serial('Events tail - ends without an error when the reader of its output has left', async (t) => {
  const tail = start(t);
  await tail.says(/\n/);
  tail.process.stdout?.destroy();
  const create = async () => {
    await t.context.grpc.category();
    return tail.hasEnded;
  };
  // Not always at the first event: a process that another test starts has a copy of the pipe for a moment.
  await until(create, 'the end of the command');
  await endsCleanly(t, tail);
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
