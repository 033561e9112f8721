/**
 * The load generator's process: autocannon, on jobs that come over the channel. It stays for the whole benchmark, so
 * that its own warm-up is in no round.
 *
 * A round is cut out of a running load: at both of its ends the processes' CPU times are read in the same instant as
 * the count of answers, so that neither the first connections nor the last, cut off, are in it.
 */
import { setTimeout as delay } from 'node:timers/promises';
import autocannon from 'autocannon';
import { cpuTimesUs, cpuTimeUs, sumOf, systemBusyUs } from './cpu.ts';
import { type Job, type Outcome, UNIQUE } from './load.ts';
import { quantile } from './numbers.ts';

/** How often autocannon looks whether it is to stop. */
const STOP_POLL_MS = 50;
const TIMEOUT_S = 10;

process.on('message', (job: Job) => {
  run(job).then(
    (outcome) => process.send?.(outcome),
    (error: Error) => process.send?.({ failure: error.message } satisfies Outcome),
  );
});
process.on('disconnect', () => process.exit()); // nobody is left to load for

async function run({ url, headers, connections, requests, leadInMs, measureMs, counted }: Job): Promise<Outcome> {
  let nextClient = 0;
  const perClient = Math.floor(requests.length / connections);
  const settings: autocannon.Options = {
    url,
    headers,
    idReplacement: Object.values(headers).includes(UNIQUE),
    connections,
    duration: (leadInMs + measureMs) / 1000 + TIMEOUT_S,
    timeout: TIMEOUT_S,
    sampleInt: STOP_POLL_MS,
    // Each connection has requests of its own: the same ones at the same time would share their look-up.
    setupClient: (client) => {
      const first = perClient * nextClient++;
      client.setRequests(requests.slice(first, first + perClient));
    },
  };
  const { promise: stopped, resolve, reject: failToStart } = Promise.withResolvers<void>();
  const load = autocannon(settings, (error: Error | null) => (error === null ? resolve() : failToStart(error)));

  let latenciesMs: number[] = [];
  const failed = new Promise<never>((_, reject) => {
    load.on('reqError', (error: Error) => reject(new Error(`a request failed: ${error.message}`)));
    load.on('response', (_client, status, _bytes, ms) => {
      if (status >= 200 && status <= 299) latenciesMs.push(ms);
      else reject(new Error(`a request was answered ${status}, not 2xx`));
    });
  });
  const cutOut = async (): Promise<Outcome> => {
    await delay(leadInMs);
    latenciesMs = [];
    const start = look(counted);
    await delay(measureMs);
    const end = look(counted);
    checkAllRun(counted);
    const ascendingMs = Float64Array.from(latenciesMs).sort();
    if (ascendingMs.length === 0) throw new Error('no request was answered: measure for longer (--seconds)');
    return {
      requests: ascendingMs.length,
      seconds: (end.atMs - start.atMs) / 1000,
      p50Ms: quantile(ascendingMs, 0.5),
      p99Ms: quantile(ascendingMs, 0.99),
      cpuUs: Object.fromEntries([...end.used].map(([name, us]) => [name, minus(us, start.used.get(name))])),
      othersUs: minus(end.others, start.others),
    };
  };
  try {
    return await Promise.race([cutOut(), failed]);
  } finally {
    load.stop();
    await stopped;
  }
}

interface Look {
  readonly atMs: number;
  /** By program, in microseconds. */
  readonly used: ReadonlyMap<string, number | undefined>;
  readonly others: number | undefined;
}

function look(counted: Job['counted']): Look {
  const used = new Map(Object.entries(counted).map(([name, processes]) => [name, cpuTimesUs(processes)]));
  const ours = sumOf([...used.values(), cpuTimeUs(process.pid)]);
  return { atMs: performance.now(), used, others: minus(systemBusyUs(), ours) };
}

/** The service goes on without Redis, at another cost: that is not what was to be measured. */
function checkAllRun(counted: Job['counted']): void {
  for (const [name, { pids }] of Object.entries(counted)) {
    const gone = pids.find((pid) => !isRunning(pid));
    if (gone !== undefined) throw new Error(`${name}'s process ${gone} has ended`);
  }
}

function isRunning(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM'; // somebody else's
  }
}

function minus(a: number | undefined, b: number | undefined): number | undefined {
  return a === undefined || b === undefined ? undefined : a - b;
}
