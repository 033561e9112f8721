/** All attacks at full size, each on a service of its own, with their bounds. */
import { Plan } from '../../../gen/petstore/admin/v1/admin.ts';
import { connectOperator } from '../operator.ts';
import type { TestStack } from '../stack.ts';
import type { Attack } from './attack.ts';
import { ATTACKS } from './attacks.ts';
import { HEAVY_BODIES, MAX_RATIO, settledCosts, TRANSPORTS } from './body-cost.ts';
import { breaches, CALM_MS, healthLies, MAX_P99_MS, mib } from './bounds.ts';
import { LEFTOVERS } from './campaign-leftovers.ts';
import { type Campaign, onService, type Row, type Run } from './campaign-run.ts';
import { crowd } from './crowd.ts';
import { endlessBodies } from './endless-bodies.ts';
import { AS_DEPLOYED, measureAttack, type Report } from './experiment.ts';
import { fuzz } from './fuzz.ts';
import { ANSWERED, silentCalls, silentCallsWithMadeUpKeys, watches } from './grpc-calls.ts';
import { guessKeys } from './guesses.ts';
import { heavyBodies } from './heavy-bodies.ts';
import { idleConnections } from './idle-connections.ts';
import { logGrowth, ODD_BYTES } from './odd-headers.ts';
import { bodilessGets, silentCallsWithKey, silentChecks } from './open-streams.ts';
import { MIB } from './resources.ts';

/** One address has too few ports for all connections. */
const THREE_ADDRESSES = ['127.0.0.2', '127.0.0.4', '127.0.0.5'] as const;
const RECOVERY_MS = 60_000;

export const CAMPAIGN: readonly Campaign[] = [
  ...ATTACKS.map((attack) => ({
    name: attack.name,
    title: `${count(attack.full)} × ${attack.title}`,
    run: (run: Run) => runAttack(attack, run),
  })),
  { name: 'body-costs', title: 'the cost of bodies of anonymous callers, compared with a GET', run: runBodyCosts },
  { name: 'made-up-keys', title: '1000 made-up keys with right checksums, from one address', run: runGuesses },
  { name: 'odd-headers', title: 'headers of 50 KB with one byte that is not ASCII', run: runOddHeaders },
  ...LEFTOVERS,
  { name: 'fuzz', title: 'REST and gRPC inputs of every kind, from a seed', run: runFuzz },
];

function count({ connections, perConnection }: Attack['full']): string {
  return perConnection > 1 ? `${connections} × ${perConnection}` : `${connections}`;
}

async function runAttack(attack: Attack, run: Run): Promise<Row> {
  const { full: size, holdMs, name } = attack;
  return onService(run, AS_DEPLOYED, async (stack) => {
    run.say(`about ${Math.round((holdMs + RECOVERY_MS) / 1_000)} s at most`);
    const report = await measureAttack(stack, attack, {
      size,
      holdMs,
      recoveryMs: RECOVERY_MS,
      afterMs: attack === crowd ? CALM_MS + 2_000 : 0,
      from: attack === idleConnections ? THREE_ADDRESSES : ['127.0.0.2'],
      signal: run.signal,
      ...(attack === silentCallsWithKey ? { key: await otherKey(stack) } : {}),
    });
    return {
      name,
      sent: count(size),
      outcome: `${JSON.stringify(report.outcomes.counts)}, p99 ms ${JSON.stringify(rounded(report.outcomes.p99Ms))}`,
      report,
      breaches: [
        ...breaches(report, { mustRecover: true, maxShedShare: 0, isTimed: true, ...attack.bounds }),
        ...(attack === crowd ? healthLies(report) : []),
        ...(EXPECTED.get(attack)?.(report) ?? []),
      ],
    };
  });
}

/** A key of another account than the bystanders'. */
async function otherKey(stack: TestStack): Promise<string> {
  const operator = await connectOperator(stack);
  try {
    return await operator.keyOf(Plan.PLAN_BUSINESS);
  } finally {
    operator.close();
  }
}

/** The streams that one address without a key may have open. */
const SHARE = 50;

const REFUSED = ['grpc-status 16', 'grpc-status 8'];

/** The outcomes that each attack must have. */
const EXPECTED: ReadonlyMap<Attack, (report: Report) => string[]> = new Map([
  [
    watches,
    ({ outcomes: { counts } }) => [...only(counts, ANSWERED, 'grpc-status 8'), ...atMost(counts[ANSWERED], 500)],
  ],
  // The attacker's own calls may be shed and repeated.
  [silentCalls, (report) => [...only(report.outcomes.counts, ...REFUSED, 'grpc-status 14'), ...all(report)]],
  [
    silentCallsWithMadeUpKeys,
    (report) => [...only(report.outcomes.counts, ...REFUSED, 'grpc-status 14'), ...all(report)],
  ],
  [bodilessGets, ({ outcomes: { counts } }) => atMost(counts.unanswered, 0)],
  [silentChecks, ({ outcomes, size }) => atMost(size.connections * size.perConnection - outcomes.total, SHARE)],
  [heavyBodies, ({ outcomes: { counts } }) => only(counts, '401', '429')],
  [endlessBodies, (report) => [...only(report.outcomes.counts, '401', '429'), ...all(report)]],
  [idleConnections, (report) => [...only(report.outcomes.counts, 'closed'), ...all(report)]],
  [
    crowd,
    ({ outcomes: { counts, p99Ms } }) => [
      ...only(counts, '200', '503'),
      ...((p99Ms[200] ?? 0) > MAX_P99_MS ? [`who was answered waited ${Math.round(p99Ms[200] ?? 0)} ms at p99`] : []),
    ],
  ],
]);

function only(counts: Readonly<Record<string, number>>, ...expected: readonly string[]): string[] {
  const others = Object.entries(counts).filter(([outcome]) => !expected.includes(outcome));
  return others.map(([outcome, times]) => `${times} ended with ${outcome}`);
}

function all({ size, outcomes: { total } }: Report): string[] {
  const sent = size.connections * Math.max(1, size.perConnection);
  return total < sent ? [`${sent - total} of ${sent} have not ended`] : [];
}

function atMost(held = 0, max = 0): string[] {
  return held > max ? [`${held} were held, more than ${max}`] : [];
}

async function runBodyCosts(run: Run): Promise<Row> {
  return onService(run, { LOG_LEVEL: 'info' }, async (stack) => {
    const ratios = new Map<string, number[]>();
    const broken: string[] = [];
    for (const { transport, name, body, withKeys } of bodies()) {
      run.signal.throwIfAborted();
      const what = `${transport}, ${name}, ${withKeys ? 'made-up keys' : 'no key'}`;
      run.say(what);
      const costs = await settledCosts(stack, { body, transport, withKeys, rounds: 5, perRound: 20 });
      const { getUs, postUs, ratio } = costs;
      ratios.set(transport, [...(ratios.get(transport) ?? []), ratio]);
      if (ratio > MAX_RATIO) broken.push(`${what}: ${postUs.toFixed()} / ${getUs.toFixed()} µs = ${ratio.toFixed(1)}`);
      broken.push(...only(costs.statuses, '401', 'grpc-status 16').map((bad) => `${what}: ${bad}`));
    }
    const spans = [...ratios].map(([transport, all]) => {
      const [least, most] = [Math.min(...all), Math.max(...all)];
      return `${transport} ${least.toFixed(1)} to ${most.toFixed(1)} times`;
    });
    const sent = `${bodies().length} kinds`;
    return { name: 'body-costs', sent, outcome: `a GET without a key: ${spans.join(', ')}`, breaches: broken };
  });
}

function bodies() {
  return TRANSPORTS.flatMap((transport) =>
    Object.entries(HEAVY_BODIES).flatMap(([name, body]) =>
      [false, true].map((withKeys) => ({ transport, name, body, withKeys })),
    ),
  );
}

async function runGuesses({ signal }: Run): Promise<Row> {
  signal.throwIfAborted();
  const { lookUps, refused, limited, allowed } = await guessKeys(1_000, true);
  const outcome = `${lookUps} look-ups, ${refused} UNAUTHENTICATED, ${limited} RESOURCE_EXHAUSTED`;
  const broken = lookUps > allowed ? [`${lookUps} look-ups, more than ${allowed}`] : [];
  return { name: 'made-up-keys', sent: '1000', outcome, breaches: broken };
}

async function runOddHeaders(run: Run): Promise<Row> {
  return onService(run, AS_DEPLOYED, async (stack) => {
    let bytes = 0;
    for (const byte of ODD_BYTES) bytes += await logGrowth(stack, byte);
    const broken = bytes > 1_000 ? [`the logs grew by ${bytes} bytes`] : [];
    return { name: 'odd-headers', sent: `${2 * ODD_BYTES.length}`, outcome: `${bytes} bytes of log`, breaches: broken };
  });
}

/** Growth since each process was warm. */
const MAX_FUZZ_GROWTH = { envoy: 64 * MIB, server: 128 * MIB };

async function runFuzz(run: Run): Promise<Row> {
  const { seed, count: inputs, signal } = run;
  return onService(run, { LOG_LEVEL: 'info' }, async (stack) => {
    const onProgress = (done: number) => run.say(`seed ${seed}, ${done} of ${inputs}`);
    const { answers, faults, growth } = await fuzz(stack, { seed, count: inputs, signal, onProgress });
    const broken = faults.map(
      ({ what, count: times, first, index }) =>
        `${times} times, first #${index}: ${what}: ${JSON.stringify(first).slice(0, 500)}`,
    );
    if (growth.envoy > MAX_FUZZ_GROWTH.envoy) broken.push(`Envoy grew by ${mib(growth.envoy)}`);
    if (growth.server > MAX_FUZZ_GROWTH.server) broken.push(`the server grew by ${mib(growth.server)}`);
    const isServed = await stack.rest.get('/pets').then(({ status }) => status === 200);
    if (!isServed) broken.push('it does not serve any more');
    const grown = `Envoy grew by ${mib(growth.envoy)}, the server by ${mib(growth.server)}`;
    return {
      name: 'fuzz',
      sent: `${inputs}, seed ${seed}`,
      outcome: `${grown}; ${JSON.stringify(answers)}`,
      breaches: broken,
    };
  });
}

function rounded(times: Readonly<Record<string, number>>): Record<string, number> {
  return Object.fromEntries(Object.entries(times).map(([outcome, ms]) => [outcome, Math.round(ms)]));
}
