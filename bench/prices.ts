/**
 * The price list: what the dearest form of each kind of request and of each operation costs, as a multiple of an
 * ordinary request of the same allowance. Rounds alternate with that request, so a busy machine disturbs both alike.
 */
import { readFileSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { setTimeout as delay } from 'node:timers/promises';
import { cpuTimesUs } from '../test/support/machine/cpu-time.ts';
import { median } from '../test/support/numbers.ts';
import type { Scope } from '../test/support/scope.ts';
import { startTestStack, type TestStack } from '../test/support/service/stack.ts';
import { toColumns } from './columns.ts';
import { fillForPrices } from './fill.ts';
import { type Forms, KEYED, KEYLESS, type Price } from './price-forms.ts';

/** The most that one request may cost, as a multiple of a `GET` by id with a key, and of a refused one without. */
const RULES = { KEYED: 10, KEYLESS: 3 } as const;
const ROUNDS = 3;
/** How long a form is sent in a round, at least. */
const ROUND_MS = 400;
const AT_A_TIME = 4;
const PAUSE_MS = 100;

interface Used {
  readonly serverUs: number;
  readonly envoyUs: number;
  readonly readBytes: number;
}

interface Result extends Used {
  readonly price: Price;
  readonly times: number;
  readonly heldBytes: number;
  readonly status: string;
}

/** Measures all forms on a service of its own. Returns the list, and the rows above the rule. */
export async function measurePrices(t: Scope, say: (text: string) => void) {
  const stack = await startTestStack(t, { LOG_LEVEL: 'info', DEMO_ACCOUNT: 'yes' }, { prepare: fillForPrices });
  const lines: string[][] = [['', 'request', 'status', '×', 'server µs', 'Envoy µs', 'read KB', 'held MiB', '']];
  const broken: string[] = [];
  for (const [kind, make] of [
    ['KEYLESS', KEYLESS],
    ['KEYED', KEYED],
  ] as const) {
    const forms = await make(t, stack);
    for (const price of forms.prices) {
      const result = await measure(stack, forms, price);
      const isDear = result.times > RULES[kind] && price.boundedBy === undefined;
      if (isDear) broken.push(`✗ ${price.name}: ${result.times.toFixed(1)} times, at most ${RULES[kind]}`);
      lines.push(toCells(kind, result, isDear));
      say(toColumns([lines.at(-1) ?? []])[0] ?? '');
    }
  }
  const head = [
    `CPU time of one request, ${ROUNDS} rounds, in turn with the ordinary request of the same allowance (×): with a`,
    'key GET /pets/1, without one a refused GET. Read: what the server has read per request, from the database, its',
    `files and Envoy. Held: how much memory server and Envoy have taken meanwhile. ${availableParallelism()} cores.`,
    '',
  ];
  return { text: [...head, ...toColumns(lines, [3, 4, 5, 6, 7])], broken };
}

function toCells(kind: string, { price, times, status, ...used }: Result, isDear: boolean): string[] {
  const verdict = price.boundedBy ?? (isDear ? '✗' : '');
  const figures = [used.serverUs, used.envoyUs, used.readBytes / 1_024, used.heldBytes / 2 ** 20].map(Math.round);
  return [kind === 'KEYED' ? 'key' : '', price.name, status, times.toFixed(1), ...figures.map(String), verdict];
}

async function measure(stack: TestStack, { ordinary }: Forms, price: Price): Promise<Result> {
  const held = memoryOf(stack);
  const statuses = new Set<string>();
  const rounds: (readonly [Used, Used])[] = [];
  await round(stack, ordinary, new Set());
  for (let count = 0; count < ROUNDS; count += 1) {
    const usual = await round(stack, ordinary, new Set());
    rounds.push([usual, await round(stack, price, statuses)]);
  }
  const of = (figure: (used: Used) => number) => median(rounds.map(([, used]) => figure(used)));
  const cost = ({ serverUs, envoyUs }: Used) => serverUs + envoyUs;
  return {
    price,
    times: median(rounds.map(([usual, used]) => cost(used) / cost(usual))),
    serverUs: of(({ serverUs }) => serverUs),
    envoyUs: of(({ envoyUs }) => envoyUs),
    readBytes: of(({ readBytes }) => readBytes),
    heldBytes: Math.max(0, memoryOf(stack) - held),
    status: [...statuses].toSorted().join(),
  };
}

/** Sends the form for a while, and lets what it has left behind end. */
async function round(stack: TestStack, { send, unit = 1 }: Price, statuses: Set<string>): Promise<Used> {
  await delay(PAUSE_MS);
  const [before, untilMs] = [usage(stack), performance.now() + ROUND_MS];
  let count = 0;
  const sendInTurn = async () => {
    do {
      statuses.add(await send());
      count += unit;
    } while (performance.now() < untilMs);
  };
  await Promise.all(Array.from({ length: AT_A_TIME }, sendInTurn));
  await delay(PAUSE_MS);
  const after = usage(stack);
  const per = (figure: keyof Used) => (after[figure] - before[figure]) / count;
  return { serverUs: per('serverUs'), envoyUs: per('envoyUs'), readBytes: per('readBytes') };
}

const pidsOf = ({ stack }: TestStack) => stack.servers.map(({ process }) => process.pid ?? -1);

function usage(stack: TestStack): Used {
  const servers = pidsOf(stack);
  return {
    serverUs: cpuTimesUs({ pids: servers }),
    envoyUs: cpuTimesUs({ pids: [stack.stack.envoy.process.pid ?? -1] }),
    readBytes: servers.reduce((sum, pid) => sum + numberIn(`/proc/${pid}/io`, /^rchar: (\d+)$/m), 0),
  };
}

function memoryOf(stack: TestStack): number {
  const pids = [...pidsOf(stack), stack.stack.envoy.process.pid ?? -1];
  return pids.reduce((sum, pid) => sum + 1_024 * numberIn(`/proc/${pid}/status`, /^VmHWM:\s+(\d+) kB$/m), 0);
}

function numberIn(file: string, pattern: RegExp): number {
  return Number(pattern.exec(readFileSync(file, 'utf8'))?.[1] ?? 0);
}
