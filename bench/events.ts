/** `npm run bench:events`: how soon an event reaches open streams, and what it costs. */
import { type ClientHttp2Session, connect } from 'node:http2';
import { setTimeout as delay } from 'node:timers/promises';
import { Option } from 'commander';
import { CommandFailed, createCommand, integer, number, run } from '../test/support/command-line.ts';
import { cpuTimesUs } from '../test/support/machine/cpu-time.ts';
import { formatCount, quantile } from '../test/support/numbers.ts';
import { sharedMissing, startShared } from '../test/support/service/shared.ts';
import { toColumns } from './columns.ts';
import { createProgress } from './progress.ts';
import { type BenchStack, startBenchStack } from './stacks.ts';

const STREAMS = [0, 1, 100, 1_000];
const STREAMS_PER_CONNECTION = 100;
/** The events of so many streams are timed; the others are only read. */
const TIMED = 20;
const WARM_UP_MS = 2_000;

interface Options {
  readonly seconds: number;
  readonly rate: number;
  readonly engine: 'sqlite' | 'postgres';
  readonly instances: number;
}

const command = createCommand(
  'bench:events',
  `Starts the whole service and opens 0, 1, 100 and 1,000 streams of events through Envoy, while categories are created
at a fixed rate. Prints how long after its time an event was received, and the CPU time of server and Envoy: of one
event and stream, without that of the writes. It needs Linux. Ctrl-C stops it cleanly.`,
)
  .option('--seconds <n>', 'how long each number of streams is measured', number(1, 600), 10)
  .option('--rate <n>', 'writes a second', integer(1, 2_000), 200)
  .addOption(new Option('--engine <name>', 'the database').choices(['sqlite', 'postgres']).default('sqlite'))
  .option('--instances <n>', 'servers behind Envoy; more than 1 need --engine postgres', integer(1, 16), 1);

/** Open streams, and the delays of the events on some of them. */
class Streams {
  readonly delaysMs: number[] = [];
  isTimed = false;
  #sessions: ClientHttp2Session[] = [];

  async open(count: number, { url, key }: BenchStack): Promise<void> {
    for (let opened = 0; opened < count; opened += STREAMS_PER_CONNECTION) {
      const session = connect(url);
      this.#sessions.push(session);
      const size = Math.min(STREAMS_PER_CONNECTION, count - opened);
      await Promise.all(Array.from({ length: size }, (_, index) => this.#follow(session, key, opened + index < TIMED)));
    }
  }

  #follow(session: ClientHttp2Session, key: string, isTimed: boolean): Promise<void> {
    const stream = session.request({ ':path': '/events/stream', authorization: `Bearer ${key}` });
    stream.setEncoding('utf8');
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    stream.on('response', (headers) => {
      if (headers[':status'] !== 200) reject(new CommandFailed(`a stream was answered with ${headers[':status']}`));
    });
    stream.on('error', reject);
    stream.on('data', (text: string) => {
      resolve();
      if (!this.isTimed) return;
      const nowMs = Date.now();
      const times = text.matchAll(/"time":"([^"]+)"/g);
      for (const [, time = ''] of isTimed ? times : []) this.delaysMs.push(nowMs - Date.parse(time));
    });
    return promise;
  }

  close(): void {
    for (const session of this.#sessions) session.destroy();
  }
}

/** Creates categories at fixed times, whatever the answers are, until `endMs`. Resolves with how many. */
async function write({ url, key }: BenchStack, rate: number, endMs: number): Promise<number> {
  const headers = { authorization: `Bearer ${key}`, 'content-type': 'application/json' };
  const answers: Promise<unknown>[] = [];
  const startMs = performance.now();
  while (performance.now() < endMs) {
    const due = Math.floor(((performance.now() - startMs) * rate) / 1_000);
    for (; answers.length < due; ) {
      const request = { method: 'POST', headers, body: '{"name":"Cats"}' };
      answers.push(fetch(`${url}/categories`, request).then((response) => response.arrayBuffer()));
    }
    await delay(2);
  }
  await Promise.all(answers);
  return answers.length;
}

async function main({ seconds, rate, engine, instances }: Options, signal: AbortSignal): Promise<void> {
  if (engine === 'sqlite' && instances > 1) throw new CommandFailed('--instances above 1 needs --engine postgres');
  if (engine === 'postgres' && sharedMissing !== undefined) throw new CommandFailed(sharedMissing);
  await using cleanUp = new AsyncDisposableStack();
  const progress = createProgress();
  cleanUp.defer(() => progress.clear());
  const shared = engine === 'postgres' ? await startShared(['max_connections=200']) : undefined;
  cleanUp.defer(async () => shared?.close());
  const variant = { name: 'events', pets: 1_000, env: { EVENT_STREAMS: '100000' } };
  const stack = await startBenchStack(variant, { instances, shared, signal, progress });
  cleanUp.defer(() => stack.stop());
  const { server, envoy } = stack.counted;
  const usedUs = () => [server, envoy].reduce((sum, program) => sum + (program ? cpuTimesUs(program) : 0), 0);
  const rows = [['streams', 'events a second', 'p50 ms', 'p99 ms', 'CPU of the service', 'µs an event and stream']];
  let aloneUs = 0;
  for (const count of STREAMS) {
    signal.throwIfAborted();
    progress.update(`${formatCount(count)} streams …`);
    const streams = new Streams();
    await streams.open(count, stack);
    await write(stack, rate, performance.now() + WARM_UP_MS);
    streams.isTimed = true;
    const [beforeUs, startMs] = [usedUs(), performance.now()];
    const events = await write(stack, rate, startMs + seconds * 1_000);
    const [tookMs, cpuUs] = [performance.now() - startMs, usedUs() - beforeUs];
    await delay(500);
    streams.close();
    const perEventUs = cpuUs / events;
    if (count === 0) aloneUs = perEventUs;
    const delays = streams.delaysMs.toSorted((one, other) => one - other);
    rows.push([
      formatCount(count),
      formatCount((events * 1_000) / tookMs),
      count === 0 ? '' : quantile(delays, 0.5).toFixed(0),
      count === 0 ? '' : quantile(delays, 0.99).toFixed(0),
      `${((cpuUs / tookMs / 1_000) * 100).toFixed(0)} %`,
      count === 0 ? '' : ((perEventUs - aloneUs) / count).toFixed(1),
    ]);
  }
  progress.clear();
  process.stdout.write(`${toColumns(rows, [0, 1, 2, 3, 4, 5]).join('\n')}\n`);
}

await run(command, main);
