/** The parts of the campaign that look for what is left: memory, open streams, and the processes themselves. */
import { connectOperator } from '../operator.ts';
import { sharedMissing, startShared } from '../shared.ts';
import type { TestStack } from '../stack.ts';
import { mib } from './bounds.ts';
import { type Campaign, onService, type Row, type Run } from './campaign-run.ts';
import { AS_DEPLOYED } from './experiment.ts';
import { keptOfHealthNames, keptOfPaddedKeys } from './kept.ts';
import { PROBED } from './probe.ts';
import { runReaders } from './readers.ts';
import { httpStatusOf, keptOf, PROTOCOLS, type Refusal, STATUSES } from './refusals.ts';
import { MIB } from './resources.ts';

const REFUSALS = 300_000;
const MAX_GROWTH = 30 * MIB;
const NAMES = 6_000;
const SPELLINGS = 3_000;
const MAX_KEPT = 16 * MIB;
const MINUTE_MS = 60_000;
/** The longest deadline of a reader. */
const MAX_REQUEST_MS = 20_000;

export const LEFTOVERS: readonly Campaign[] = [
  ...STATUSES.flatMap((status) =>
    PROTOCOLS.map((protocol) => ({
      name: `refused-${status}-${protocol.toLowerCase()}`,
      title: `${REFUSALS} requests over ${protocol} that are refused with a ${status}`,
      run: (run: Run) => runRefusals(run, { protocol, status }),
    })),
  ),
  {
    name: 'health-names',
    title: `${NAMES} health watches with names of 60 KB and a deadline of 300 ms`,
    run: (run) => runKept(run, 'health-names', NAMES, keptOfHealthNames),
  },
  {
    name: 'padded-keys',
    title: `${SPELLINGS} requests with 20,000 and more spaces before the key`,
    run: (run) => runKept(run, 'padded-keys', SPELLINGS, (stack, flood) => keptOfPaddedKeys(stack, flood, MAX_KEPT)),
  },
  {
    name: 'readers',
    title: 'random readers of all protocols, with random windows, deadlines, stops and resets',
    run: (run) => onService(run, PROBED, (stack) => runReading(run, 'readers', stack, false)),
  },
  {
    name: 'readers-restarts',
    title: 'the same with two servers that are replaced all the time',
    run: runReplacing,
  },
];

async function runRefusals(run: Run, refusal: Refusal): Promise<Row> {
  const name = `refused-${refusal.status}-${refusal.protocol.toLowerCase()}`;
  return onService(run, AS_DEPLOYED, async (stack) => {
    const operator = await connectOperator(stack);
    const usedUp = await operator.keyOf({ perMinute: 1, perDay: 1 });
    operator.close();
    await stack.rest.withKey(usedUp).get('/pets');
    run.say('a minute or two');
    const kept = await keptOf(stack, refusal, { key: stack.key, usedUp }, { count: REFUSALS, signal: run.signal });
    const { answers, usedBytes, serverRssBytes, leftOpen } = kept;
    const breaches = Object.entries(answers)
      .filter(([status]) => Number(status) !== httpStatusOf(refusal))
      .map(([status, count]) => `${count} ended with ${status}`);
    if (usedBytes > MAX_GROWTH) breaches.push(`the server kept ${mib(usedBytes)}`);
    if (serverRssBytes > MAX_GROWTH) breaches.push(`the server grew by ${mib(serverRssBytes)}`);
    if (leftOpen !== undefined) breaches.push(`still open: ${leftOpen}`);
    return { name, sent: `${REFUSALS}`, outcome: JSON.stringify(kept), breaches };
  });
}

type Measure = (stack: TestStack, flood: { readonly count: number; readonly signal: AbortSignal }) => Promise<number>;

async function runKept(run: Run, name: string, count: number, measure: Measure): Promise<Row> {
  return onService(run, AS_DEPLOYED, async (stack) => {
    const bytes = await measure(stack, { count, signal: run.signal });
    const breaches = bytes > MAX_KEPT ? [`${mib(bytes)} are kept`] : [];
    return { name, sent: `${count}`, outcome: `${bytes} bytes are kept`, breaches };
  });
}

async function runReplacing(run: Run): Promise<Row> {
  if (sharedMissing !== undefined) {
    return { name: 'readers-restarts', sent: '0', outcome: `not run: ${sharedMissing}`, breaches: [] };
  }
  const shared = await startShared();
  try {
    const settings = { ...PROBED, INSTANCES: '2', ...(await shared.settings()) };
    return await onService(run, settings, (stack) => runReading(run, 'readers-restarts', stack, true));
  } finally {
    await shared.close();
  }
}

async function runReading(run: Run, name: string, stack: TestStack, restarts: boolean): Promise<Row> {
  const { seed, minutes, signal, say: onProgress } = run;
  const lastsMs = minutes * MINUTE_MS;
  const report = await runReaders(stack, { seed, lastsMs, maxRequestMs: MAX_REQUEST_MS, restarts, signal, onProgress });
  const sent = `${minutes} min, seed ${seed}`;
  const outcome = `${report.restarts} rolling restarts; ${JSON.stringify(report.outcomes)}`;
  return { name, sent, outcome, breaches: report.breaches };
}
