/**
 * The price list: what each kind of request and each operation costs in its dearest form, as a multiple of an ordinary
 * request of the same allowance. All forms are sent a few times, to find the dearest of each row. Its rounds alternate
 * with those of the ordinary request, so a busy machine disturbs both alike.
 */
import { readFileSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { setTimeout as delay } from 'node:timers/promises';
import { cpuTimesUs } from '../test/support/machine/cpu-time.ts';
import { median } from '../test/support/numbers.ts';
import type { Scope } from '../test/support/scope.ts';
import type { Settings } from '../test/support/service/process.ts';
import { startTestStack, type TestStack } from '../test/support/service/stack.ts';
import { toColumns } from './columns.ts';
import { fillForPrices } from './fill.ts';
import { type Form, KEYLESS_FORMS, type Priced } from './forms.ts';
import { KEYED_FORMS } from './operation-forms.ts';
import { Maker, type Received, type Sender, senderFrom } from './senders.ts';
import { type Counted, programsOf } from './stacks.ts';

/** With the most that one request may cost, as a multiple of the ordinary one: the first whose name begins so. */
const LISTS = [
  { title: 'without a key', forms: KEYLESS_FORMS, max: 3, ordinary: /^REST GET/ },
  { title: 'with a key', forms: KEYED_FORMS, max: 10, ordinary: /^GET .*\} $/ },
];
const ROUNDS = 3;
/** How long a form is sent in a round, at least, and how often to find the dearest. */
const [ROUND_MS, TRIED] = [300, 8];
const AT_A_TIME = 4;
/** What a form has left behind ends meanwhile. */
const [PAUSE_MS, IDLE_MS] = [50, 2_000];

type Used = Awaited<ReturnType<typeof use>>;

/** A form that can be sent. */
export interface Ready extends Form {
  readonly send: () => Promise<Received>;
}

type Times = Readonly<Record<string, number>>;

export interface Running {
  readonly stack: TestStack;
  readonly service: Omit<Priced, 'maker'>;
  readonly counted: Counted;
  /** What each program takes in a millisecond in which nothing is sent. */
  readonly idleUs: Times;
}

/** Starts a service for prices, whose callers have so many accounts. `databases` are programs beside it. */
export async function startPriced(
  t: Scope,
  settings: Settings,
  accounts: number,
  databases: Counted = {},
): Promise<Running> {
  const env = { LOG_LEVEL: 'info', DEMO_ACCOUNT: 'yes', ...settings };
  const stack = await startTestStack(t, env, { prepare: fillForPrices });
  const overLimit = `Bearer ${await stack.operator.keyOf({ perMinute: 1, perDay: 1_000_000 })}`;
  const keys: string[] = [];
  while (keys.length < accounts) {
    keys.push(`Bearer ${await stack.operator.keyOf({ perMinute: 1_000_000, perDay: 1_000_000 })}`);
  }
  const valid = () => {
    keys.push(keys.shift() ?? '');
    return keys[0] ?? '';
  };
  const service = { rest: stack.rest, valid, overLimit };
  const counted = { ...programsOf(stack.stack), ...databases };
  await delay(IDLE_MS); // the start ends
  const before = timesOf(counted);
  await delay(IDLE_MS);
  return {
    stack,
    service,
    counted,
    idleUs: mapped(timesOf(counted), (us, name) => (us - (before[name] ?? 0)) / IDLE_MS),
  };
}

const timesOf = (counted: Counted): Times => mapped(counted, cpuTimesUs);

function mapped<V>(record: Readonly<Record<string, V>>, to: (value: V, name: string) => number): Times {
  return Object.fromEntries(Object.entries(record).map(([name, value]) => [name, to(value, name)]));
}

async function ready(form: Form, { service }: Running, sender: Sender): Promise<Ready> {
  const make = await form.prepare({ ...service, maker: new Maker(sender, service.valid) });
  return { ...form, send: async () => sender(await make()) };
}

/** Sends each form a few times. Resolves with the dearest of each row. */
export async function findDearest(running: Running, forms: readonly Form[], sender: Sender): Promise<Ready[]> {
  const cost = async (form: Ready) => {
    const { us } = await use(running, form, (count) => count < TRIED);
    return { form, us: total(us) };
  };
  const tried: { readonly form: Ready; readonly us: number }[] = [];
  for (const form of forms) tried.push(await cost(await ready(form, running, sender)));
  const dearest: Ready[] = [];
  for (const [, row] of Map.groupBy(tried, ({ form }) => form.row)) {
    const again: typeof tried = [];
    for (const { form } of row.toSorted((a, b) => b.us - a.us).slice(0, 3)) again.push(await cost(form));
    dearest.push(
      ...again
        .toSorted((a, b) => b.us - a.us)
        .slice(0, 1)
        .map(({ form }) => form),
    );
  }
  return dearest;
}

/** Measures all rows. Returns the list, and the rows above the rule. */
export async function measurePrices(t: Scope, running: Running, say: (text: string) => void) {
  const programs = Object.keys(running.counted);
  const titles = [
    'row',
    'its dearest form',
    'status',
    '×',
    ...programs.map((name) => `${name} µs`),
    'read KB',
    'held MiB',
  ];
  const lines = [titles];
  const broken: string[] = [];
  for (const { title, forms, max, ordinary } of LISTS) {
    say(`${title}: ${forms.length} forms …`);
    const sender = senderFrom(t, running.stack, '127.0.0.7');
    const [usual] = forms.filter(({ row, how }) => ordinary.test(`${row} ${how}`));
    if (usual === undefined) throw new Error(`there is no ordinary request ${title}`);
    const compared = await ready(usual, running, sender);
    lines.push([title]);
    for (const form of await findDearest(running, forms, sender)) {
      const { row, how, boundedBy } = form;
      const { times, cells } = await measure(running, compared, form);
      const isDear = times > max && boundedBy === undefined;
      if (isDear) broken.push(`✗ ${title}, ${row}: ${how}: ${times.toFixed(1)} times, at most ${max}`);
      lines.push([row, how, ...cells, boundedBy ?? (isDear ? '✗' : '')]);
      say(lines.at(-1)?.join('  ') ?? '');
    }
  }
  const head = [
    `CPU time of one request, in ${ROUNDS} rounds, and as a multiple of the ordinary one of the same allowance: with`,
    'a key a GET by id, without one a refused GET. Read: by the servers per request, from databases, files and Envoy.',
    `Held: how much memory servers and Envoy have taken meanwhile. ${availableParallelism()} cores.`,
    '',
  ];
  return { text: [...head, ...toColumns(lines, titles.keys().toArray().slice(3))], broken };
}

async function measure(running: Running, usual: Ready, form: Ready) {
  const heldKb = peakKb(running);
  const statuses = new Set<string>();
  const rounds: (readonly [Used, Used])[] = [];
  const round = (of: Ready, seen = statuses) => {
    const untilMs = performance.now() + ROUND_MS;
    return use(running, of, (count) => count < AT_A_TIME || performance.now() < untilMs, seen);
  };
  for (let count = 0; count < ROUNDS; count += 1) rounds.push([await round(usual, new Set()), await round(form)]);
  const middle = (figure: (used: Used) => number) => median(rounds.map(([, used]) => figure(used)));
  const times = median(rounds.map(([one, used]) => total(used.us) / total(one.us)));
  const figures = [
    ...Object.keys(running.counted).map((name) => middle(({ us }) => us[name] ?? 0)),
    middle(({ readBytes }) => readBytes / 1_024),
    (peakKb(running) - heldKb) / 1_024,
  ];
  return { times, cells: [[...statuses].join(), times.toFixed(1), ...figures.map((figure) => figure.toFixed(0))] };
}

const total = (us: Times) => Object.values(us).reduce((sum, each) => sum + each, 0);

/** Sends a form while `goesOn`. */
async function use(running: Running, form: Ready, goesOn: (sent: number) => boolean, seen = new Set<string>()) {
  const { counted, idleUs } = running;
  const snapshot = () => ({ us: timesOf(counted), readBytes: readBytes(running), ms: performance.now() });
  const before = snapshot();
  let [sent, units] = [0, 0];
  const sendInTurn = async () => {
    while (goesOn(sent)) {
      sent += 1;
      const { status, body } = await form.send();
      units += form.counts?.(body.length) ?? 1;
      seen.add(status);
    }
  };
  await Promise.all(Array.from({ length: AT_A_TIME }, sendInTurn));
  await delay(PAUSE_MS);
  const after = snapshot();
  const ms = after.ms - before.ms;
  const us = mapped(after.us, (time, name) => (time - (before.us[name] ?? 0) - (idleUs[name] ?? 0) * ms) / units);
  return { us, readBytes: (after.readBytes - before.readBytes) / units };
}

function readBytes({ counted: { server } }: Running): number {
  return numbersIn(server?.pids, 'io', /^rchar: (\d+)$/m);
}

/** The most memory that servers and Envoy have taken. */
function peakKb({ counted: { server, envoy } }: Running): number {
  return numbersIn([...(server?.pids ?? []), ...(envoy?.pids ?? [])], 'status', /^VmHWM:\s+(\d+) kB$/m);
}

function numbersIn(pids: readonly number[] = [], file: string, pattern: RegExp): number {
  return pids.reduce(
    (sum, pid) => sum + Number(pattern.exec(readFileSync(`/proc/${pid}/${file}`, 'utf8'))?.[1] ?? 0),
    0,
  );
}
