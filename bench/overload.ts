/** `npm run bench:overload`: latency below the capacity of one server, and refusals above it. */
import { CommandFailed, createCommand, integer, run } from '../scripts/command-line.ts';
import { scopeOf, temporaryFolder } from '../test/support/scope.ts';
import { formatCount, toColumns } from './columns.ts';
import { headersOf } from './measure.ts';
import { describeMachine } from './report.ts';
import { GET, POST, SERVICE } from './scenarios.ts';
import { startBenchStack } from './stacks.ts';
import { runWrk, wrkMissing } from './wrk.ts';

/** More than a server may have open calls. */
const CLIENTS = 1_000;
/** The connections that find the capacity. */
const CONNECTIONS = 64;
/** How much is offered, as a multiple of the capacity. */
const TIMES = [0.25, 0.5, 0.75, 1, 2, 10];

interface Options {
  readonly seconds: number;
}

const command = createCommand(
  'bench:overload',
  `Starts the whole service (Envoy, server, SQLite in a temporary folder) and measures its capacity with ${CONNECTIONS}
connections. Then ${formatCount(CLIENTS)} clients, each with a connection of its own, pause at random before each
request, so that together they would send ${TIMES.join(', ')} times the capacity if no response took time. Prints how
many requests succeeded and failed, nearly all of which are refused, and the latency of all. It takes a minute and a
half. Ctrl-C stops it cleanly. It needs Linux and wrk.`,
).option('--seconds <n>', 'how long each load is offered', integer(1, 600), 5);

async function main({ seconds }: Options, signal: AbortSignal): Promise<void> {
  if (wrkMissing !== undefined) throw new CommandFailed(wrkMissing);
  const say = (text: string) => void process.stderr.write(`${text}\n`);
  await using cleanUp = new AsyncDisposableStack();
  const t = scopeOf(cleanUp);
  const folder = temporaryFolder(t);
  const stack = await startBenchStack(t, SERVICE, { instances: 1, shared: undefined, signal, say });
  const rows = [['scenario', 'times', 'offered/s', 'succeeded/s', 'failed/s', 'p50 ms', 'p99 ms']];
  for (const { name, request } of [GET, POST]) {
    const load = { url: stack.url, headers: headersOf(SERVICE, stack.key), seconds, folder, signal };
    const generate = (connections: number, pauseMs?: number) => {
      const running = runWrk({ ...load, request: () => request(SERVICE.pets), connections, pauseMs });
      return Promise.race([running, stack.failure]);
    };
    await generate(CONNECTIONS); // its code is compiled and its caches filled
    say(`${name}: measuring the capacity …`);
    const { count, seconds: took } = await generate(CONNECTIONS);
    const capacity = count / took;
    for (const times of TIMES) {
      say(`${name}: ${times} times the capacity …`);
      const perSecond = times * capacity;
      const outcome = await generate(CLIENTS, (1_000 * CLIENTS) / perSecond);
      const failed = outcome.failed + outcome.lost;
      const rates = [perSecond, (outcome.count - outcome.failed) / outcome.seconds, failed / outcome.seconds];
      const latencies = [outcome.p50Ms, outcome.p99Ms].map((ms) => ms.toFixed(1));
      rows.push([name, `${times}`, ...rates.map(formatCount), ...latencies]);
    }
  }
  process.stdout.write(`${[describeMachine(), '', ...toColumns(rows, [1, 2, 3, 4, 5, 6])].join('\n')}\n`);
}

await run(command, main);
