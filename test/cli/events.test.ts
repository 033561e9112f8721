/** `petstore events tail` against a real server. A session of the docs shows its text. */
import type { ExecutionContext } from 'ava';
import { Program } from '../support/service/process.ts';
import type { TestServer } from '../support/service/server.ts';
import { serverTest } from '../support/service/shared-stack.ts';
import { until } from '../support/until.ts';
import { MAIN, petstore, settingsOf } from './command.ts';

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

test.serial('Events tail - reads no further while its output is not read', async (t) => {
  const { write } = process.stdout;
  const [lines, counts]: [unknown[], number[]] = [[], []];
  process.stdout.write = (line: unknown) => lines.push(line) === 0; // false: its buffer is full
  const ended = petstore({ ...settingsOf(t.context), API_KEY: t.context.key })(['events', 'tail', '--after', '0']);
  for (let read = 1; read <= 3; read += 1) {
    await until(() => lines.length >= read, `line ${read}`);
    counts.push(lines.length);
    process.stdout.emit('drain');
  }
  process.emit('SIGINT');
  t.deepEqual([(await ended).exitCode, counts], [0, [1, 2, 3]]);
  process.stdout.write = write;
});
