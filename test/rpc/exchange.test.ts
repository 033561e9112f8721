/**
 * The table at the head of src/platform/rpc/exchange.ts: whatever happens in whatever state of a call, its caller gets
 * one response or a reset, and nothing is left. Every cell is walked over its own connection.
 */
import { setTimeout as delay } from 'node:timers/promises';
import type { ExecutionContext } from 'ava';
import { apiError } from '../../src/platform/errors.ts';
import { type SharedBy, sharing } from '../support/service/sharing.ts';
import { until } from '../support/until.ts';
import {
  type CallerProtocol,
  type Outcome,
  PROTOCOLS,
  piece,
  request,
  type Scripted,
  startScriptedServer,
  streamsOf,
} from './scripted-server.ts';

/** `unread` and `open` are one state of the exchange: in `unread` the request is not read, nor sent completely. */
const STATES = ['unread', 'open', 'streaming', 'ending', 'closed'] as const;
type State = (typeof STATES)[number];

/** What the caller gets. `left`: it has ended the call itself, or lost the connection. */
type Expected = Outcome | 'left';

/** By event: for a call without a response, for a stream that has begun, for a response that is unread. */
const TABLE = {
  respond: ['answered', 'answered', 'answered'],
  refuse: ['refused', 'refused', 'answered'],
  begin: ['answered', 'answered', 'answered'],
  send: ['answered', 'answered', 'answered'],
  finish: ['answered', 'answered', 'answered'],
  abort: ['refused', 'refused', 'answered'],
  'second answer': ['answered', 'refused', 'answered'],
  deadline: ['refused', 'refused', 'answered'],
  cancel: ['left', 'left', 'left'],
  'cancel without an error': ['left', 'left', 'left'],
  'session closed': ['left', 'left', 'left'],
  'write failed': ['left', 'left', 'left'],
  unencodable: ['refused', 'refused', 'answered'],
  'bad header': ['reset', 'answered', 'answered'],
  'never read': ['reset', 'reset', 'reset'],
} as const satisfies Readonly<Record<string, readonly [open: Expected, streaming: Expected, ending: Expected]>>;
type Event = keyof typeof TABLE;
const EVENTS = Object.keys(TABLE) as Event[];

function expected(protocol: CallerProtocol, state: State, event: Event): Expected {
  if (state === 'closed') return 'left';
  const [open, streaming, ending] = TABLE[event];
  if (state === 'streaming') return streaming === 'refused' && protocol !== 'gRPC' ? 'reset' : streaming;
  return state === 'ending' ? ending : open;
}

/** Events of a method that streams, and of any that runs. It does not while its request is unread. */
const STREAMING: readonly Event[] = ['begin', 'send', 'finish', 'abort'];
const RUNNING: readonly Event[] = [...STREAMING, 'unencodable', 'bad header'];
/** Long enough to reach any state. */
const DEADLINE = '1000m';
const CANCEL = 8;
/** Longer than a response may be unread. */
const UNREAD_MS = 31_000;
/** For a busy machine, and less than a response may be unread: what is left by then is left for good. */
const PATIENCE_MS = 20_000;
const ERROR = apiError('UNAVAILABLE');

const test = sharing(undefined, async (t) => {
  const faults: unknown[] = [];
  process.on('uncaughtException', (error) => faults.push(error));
  process.on('unhandledRejection', (error) => faults.push(error));
  return { server: await startScriptedServer(t), faults };
});
type Test = ExecutionContext<SharedBy<typeof test>>;

type Cell = Awaited<ReturnType<typeof enter>>;

const nameOf = (...cell: [CallerProtocol, State, Event]) => cell.join(', ');

async function enter({ context: { server } }: Test, protocol: CallerProtocol, state: State, event: Event) {
  const id = nameOf(protocol, state, event).replace(/\W+/g, '-'); // one with a space is replaced
  const isStream =
    state === 'streaming' || (['open', 'closed'].includes(state) && [...STREAMING, 'never read'].includes(event));
  const caller = request(server.port, {
    ...{ protocol, isStream, id, isWhole: state !== 'unread' },
    window: state === 'ending' || event === 'never read' ? 0 : 65_535,
    headers: {
      ...(state === 'unread' ? { 'x-gate': '1' } : {}),
      ...(event === 'deadline' ? { 'grpc-timeout': DEADLINE } : {}),
    },
  });
  const scripted = await until(() => server.find(id), 'the call');
  switch (state) {
    case 'streaming':
      scripted.step(piece('first'));
      await caller.headers;
      if (event !== 'never read') await until(() => caller.received().length > 0, 'the first piece');
      break;
    case 'ending':
      scripted.step('end');
      await caller.headers;
      break;
    case 'closed':
      caller.stream.close(CANCEL);
      await until(() => scripted.call.isCancelled(), 'the end of the stream');
      break;
    default:
  }
  return { caller, scripted };
}

const WHOLE = { message: piece('more'), bytes: Buffer.from('more') };
/** A response besides the one that the method gives. */
const respond = ({ call }: Scripted) => void call.respond(WHOLE).catch(() => undefined);

const STEPS: Partial<Record<Event, readonly Parameters<Scripted['step']>[0][]>> = {
  begin: [piece('a')],
  send: [piece('b'), piece('c')],
  finish: ['end'],
  abort: [ERROR],
  'write failed': [piece('x'.repeat(200_000))],
  unencodable: [null as never],
  'never read': [piece('a')],
};

const ACTS: Partial<Record<Event, (cell: Cell) => void>> = {
  respond: ({ scripted }) => respond(scripted),
  refuse: ({ scripted }) => scripted.call.fail(ERROR),
  'bad header': ({ scripted }) => void scripted.call.responseHeaders.set(':broken', 'x'),
  'second answer': ({ scripted }) => {
    respond(scripted);
    scripted.call.fail(ERROR);
    scripted.call.giveUp(ERROR);
  },
  cancel: ({ caller }) => caller.stream.close(CANCEL),
  'cancel without an error': ({ caller }) => caller.stream.close(0),
  'session closed': ({ caller }) => caller.session.destroy(),
  'write failed': ({ scripted }) => scripted.session?.destroy(new Error('a write failed')),
};

function happen(state: State, event: Event, cell: Cell): void {
  const { scripted } = cell;
  if (state === 'unread' && event === 'never read') respond(scripted);
  for (const step of STEPS[event] ?? []) scripted.step(step);
  ACTS[event]?.(cell); // otherwise its steps do it, or the deadline passes by itself
}

async function walk(t: Test, protocol: CallerProtocol, state: State, event: Event): Promise<Cell> {
  const cell = await enter(t, protocol, state, event);
  const { caller, scripted } = cell;
  happen(state, event, cell);
  if (event === 'deadline') await delay(Number.parseInt(DEADLINE, 10)).then(() => delay(100)); // in a later turn
  // Then the method goes on to its end, and the caller reads, unless that is what does not happen.
  scripted.openGate();
  scripted.step('end');
  if (event === 'never read') return cell;
  if (state === 'ending' && !caller.session.destroyed) caller.session.settings({ initialWindowSize: 65_535 });
  await check(t, cell, nameOf(protocol, state, event), expected(protocol, state, event));
  return cell;
}

async function check(t: Test, { caller, scripted }: Cell, name: string, wanted: Expected): Promise<void> {
  const outcome = await Promise.race([caller.outcome, delay(PATIENCE_MS, 'open')]);
  if (wanted !== 'left') t.is(outcome, wanted, name);
  await until(() => isGone(scripted), `${name}: the end of its stream in the session`, PATIENCE_MS);
  await until(() => scripted.ends.length > 0, `${name}: the report of its end`);
  t.is(scripted.ends.length, 1, `${name}: it ended more than once`);
  caller.session.destroy();
}

const isGone = ({ session }: Scripted) => session === undefined || session.destroyed || streamsOf(session) === 0;

for (const protocol of PROTOCOLS) {
  for (const state of STATES) {
    test(`Exchange - ${protocol}, ${state}: every event leads to one response or a reset`, async (t) => {
      const left = state === 'unread' ? RUNNING : [];
      const atOnce = EVENTS.filter((event) => event !== 'never read' && !left.includes(event));
      await Promise.all(atOnce.map((event) => walk(t, protocol, state, event)));
    });
  }
}

test.serial('Exchange - a response that is never read ends after 30 seconds, and leaves nothing', async (t) => {
  const cells = PROTOCOLS.flatMap((protocol) => STATES.map((state) => [protocol, state, 'never read'] as const));
  const open = await Promise.all(cells.map(async (cell) => ({ cell, opened: await walk(t, ...cell) })));
  await delay(2_000);
  for (const { cell, opened } of open) t.is(isGone(opened.scripted), cell[1] === 'closed', nameOf(...cell));
  const now = performance.now.bind(performance);
  performance.now = () => now() + UNREAD_MS;
  try {
    await Promise.all(open.map(({ cell, opened }) => check(t, opened, nameOf(...cell), expected(...cell))));
  } finally {
    performance.now = now;
  }
});

test.after('Exchange - nothing is open any more, and nothing was thrown outside of a call', (t) => {
  t.deepEqual(t.context.server.openCalls.counts(), { unary: 0, stream: 0, feed: 0 });
  t.deepEqual(t.context.faults, []);
});
