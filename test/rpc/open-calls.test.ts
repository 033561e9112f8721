/** What a caller may have open, whatever it waits for: src/platform/rpc/open-calls.ts. */
import { setTimeout as delay } from 'node:timers/promises';
import { status as Status } from '@grpc/grpc-js';
import type { ExecutionContext } from 'ava';
import { MAX_CALLS_PER_SERVER } from '../../src/platform/config/constants.ts';
import { apiError } from '../../src/platform/errors.ts';
import { MAX_CALLS } from '../../src/platform/rpc/connections.ts';
import { MAX_PER_ADDRESS } from '../../src/platform/rpc/open-calls.ts';
import { fresh, type SharedBy } from '../support/service/sharing.ts';
import { until } from '../support/until.ts';
import { type Caller, EDGE_SECRET, piece, request, startScriptedServer } from './scripted-server.ts';

const SHARE = MAX_CALLS_PER_SERVER / 8;

const test = fresh(undefined, async (t) => {
  const callers: Caller[] = [];
  t.teardown(() => callers.forEach(({ session }) => void session.destroy()));
  return { server: await startScriptedServer(t), callers };
});
type Test = ExecutionContext<SharedBy<typeof test>>;

/** `session` is the connection of another caller, `id` that of a request that Envoy sends again. */
type Opened = Partial<Parameters<typeof request>[1]>;

let ids = 0;

async function open({ context }: Test, options: Opened) {
  ids += 1;
  const { id = `open-${ids}` } = options;
  const before = context.server.find(id);
  const caller = request(context.server.port, { ...options, id });
  context.callers.push(caller);
  const isNew = () => context.server.find(id) !== before && context.server.find(id);
  const scripted = await until(isNew, 'the call');
  return { caller, scripted };
}

/** Opens many calls, as many on a connection as it takes. Those of a caller who reads nothing wait for that. */
async function openMany(t: Test, count: number, options: Opened) {
  const all: Awaited<ReturnType<typeof open>>[] = [];
  while (all.length < count) {
    const first = await open(t, options);
    const { session } = first.caller;
    const beside = Array.from({ length: Math.min(count - all.length, MAX_CALLS) - 1 });
    all.push(first, ...(await Promise.all(beside.map(() => open(t, { ...options, session })))));
  }
  if (options.window !== 0) return all;
  for (const { scripted } of all) scripted.step(piece('unread'));
  await Promise.all(all.map(({ caller }) => caller.headers));
  return all;
}

async function refusal(t: Test, options: Opened): Promise<string> {
  const { caller } = await open(t, options);
  t.is(await caller.outcome, 'refused');
  return decodeURI(String(caller.seen['grpc-message']));
}

async function isServed(t: Test, options: Opened): Promise<void> {
  const { caller, scripted } = await open(t, options);
  scripted.step('end');
  t.is(await caller.outcome, 'answered');
}

const WAITING: Readonly<Record<string, Opened>> = {
  'for its message': { isWhole: false },
  'for its method': {},
  'for the next piece of a stream': { isStream: true },
  'for its caller to read': { window: 0 },
};

for (const [what, waiting] of Object.entries(WAITING)) {
  test(`Address - may have ${MAX_PER_ADDRESS} calls open that wait ${what}; others are served`, async (t) => {
    const headers = { 'x-share': '1' };
    const calls = await openMany(t, MAX_PER_ADDRESS, { ...waiting, headers });
    t.regex(await refusal(t, { headers }), /50 at a time/);
    t.regex(await refusal(t, { headers, from: '127.0.0.2' }), /50 at a time/, 'all users of a machine are one');
    const elsewhere = { 'x-petstore-edge': EDGE_SECRET, 'x-forwarded-for': '127.0.0.2' };
    await isServed(t, { headers: { ...headers, ...elsewhere } });
    await isServed(t, { headers: { 'x-account': '1' } });
    calls[0]?.caller.stream.close(8);
    await until(() => calls[0]?.scripted.call.isCancelled(), 'the end of one');
    await isServed(t, { headers });
  });
}

test('Address - of a method without a key 1,000 may be open, and one more ends one of who has most', async (t) => {
  const from = (address: string) => ({
    headers: { 'x-keyless': '1', 'x-petstore-edge': EDGE_SECRET, 'x-forwarded-for': address },
  });
  const all = [];
  for (let host = 1; host <= 20; host += 1) all.push(...(await openMany(t, MAX_PER_ADDRESS, from(`192.0.2.${host}`))));
  await isServed(t, from('192.0.2.200'));
  t.is(all.filter(({ scripted }) => scripted.call.isCancelled()).length, 1);
});

test("Address - Envoy's checks take no share, its callers count by their address", async (t) => {
  const of = (secret: string, address?: string) => {
    const share = { 'x-share': '1', 'x-petstore-edge': secret };
    return { headers: address === undefined ? share : { ...share, 'x-forwarded-for': address } };
  };
  const checks = await openMany(t, MAX_PER_ADDRESS + 10, of(EDGE_SECRET));
  t.is(checks[0]?.scripted.call.source, 'edge');
  await isServed(t, of(EDGE_SECRET));
  await openMany(t, MAX_PER_ADDRESS, of(EDGE_SECRET, '192.0.2.1'));
  t.regex(await refusal(t, of(EDGE_SECRET, '192.0.2.1')), /50 at a time/);
  await isServed(t, of(EDGE_SECRET, '192.0.2.2'));
  await openMany(t, MAX_PER_ADDRESS, of('a guess', '192.0.2.3'));
  for (const wrong of [of('a guess', '192.0.2.4'), of('a guess')]) t.regex(await refusal(t, wrong), /50 at a time/);
});

test('Shares - a request that Envoy sends to a server twice takes one', async (t) => {
  const edge = { 'x-petstore-edge': EDGE_SECRET, 'x-forwarded-for': '192.0.2.1' };
  for (const [headers, count] of [
    [{ ...edge, 'x-share': '1' }, MAX_PER_ADDRESS],
    [{ ...edge, 'x-account': '1' }, SHARE * 7],
  ] as const) {
    const [first] = await openMany(t, count, { headers });
    await isServed(t, { headers, id: first?.scripted.call.requestId ?? '' });
    t.regex(await refusal(t, { headers }), /at a time|not available/);
    for (const { session } of t.context.callers) session.destroy();
  }
});

test('Account - alone it may have seven eighths of the slots', async (t) => {
  const headers = { 'x-account': '1' };
  await openMany(t, SHARE * 7, { headers });
  t.regex(await refusal(t, { headers }), /not available just now/);
  await isServed(t, { headers: { 'x-account': '2' } });
});

for (const [what, waiting] of Object.entries({
  'for its message': { isWhole: false },
  'for its caller to read': { window: 0 },
  'for its caller to read a stream': { window: 0, isStream: true },
})) {
  test(`Account - on a crowded server its calls end that wait ${what}, also while it is alone`, async (t) => {
    const calls = await openMany(t, SHARE * 6, { ...waiting, headers: { 'x-account': '1' } });
    const ended = () => calls.filter(({ scripted }) => scripted.call.isCancelled()).length;
    t.true(await until(() => ended() > 0, 'the end of calls that wait'));
  });
}

test('Account - on a crowded server its feeds do not end, which hold no slots', async (t) => {
  const headers = { 'x-account': '1' };
  await openMany(t, SHARE * 6, { headers });
  const stream = { isStream: true, window: 0, headers };
  const [feed, other] = [await open(t, { ...stream, headers: { ...headers, 'x-feed': '1' } }), await open(t, stream)];
  feed.scripted.call.identify = () => Promise.reject(new Error('its key can not be looked up'));
  for (const { scripted } of [feed, other]) scripted.step(piece('unread'));
  await until(() => other.scripted.call.isCancelled(), 'the end of the other one');
  const { told } = t.context.server;
  await until(() => told.length > 1, 'what other servers are told, and told again');
  t.deepEqual([feed.scripted.call.isCancelled(), told.at(-1)], [false, 1]);
  feed.caller.stream.close(8);
  await until(() => told.at(-1) === 0, 'that they are told of its end');
});

test('Feed - one that is ended gives a reader who lags what was sent, and cuts him off 5 s later', async (t) => {
  const ends = [500, 7_000].map(async (readsAfterMs) => {
    const { caller, scripted } = await open(t, { isStream: true, window: 0, headers: { 'x-feed': '1' } });
    scripted.step(piece('unread'));
    await caller.headers;
    await delay(1_500);
    scripted.call.giveUp(apiError('UNAVAILABLE'));
    await delay(readsAfterMs);
    if (!caller.session.destroyed) caller.session.settings({ initialWindowSize: 65_535 }); // it ends with its call
    const outcome = await caller.outcome;
    return [outcome, caller.received().includes('unread'), caller.seen['grpc-status']];
  });
  t.deepEqual(await Promise.all(ends), [
    ['refused', true, String(Status.UNAVAILABLE)],
    ['reset', false, undefined],
  ]);
});

test('Account - when crowded, calls past an eighth are refused beside others, and none that runs ends', async (t) => {
  const greedy = { 'x-account': '1' };
  const calls = await openMany(t, SHARE * 6, { headers: greedy });
  const other = await open(t, { headers: { 'x-account': '2' } });
  t.regex(await refusal(t, { headers: greedy }), /64 at a time/);
  await delay(2_000); // by then those have ended that wait for their caller
  await isServed(t, { headers: { 'x-account': '3' } });
  for (const { caller, scripted } of [...calls, other]) {
    scripted.step('end');
    t.is(await caller.outcome, 'answered');
  }
});

test('Streams - end at their maximum age with DEADLINE_EXCEEDED, unary calls do not', async (t) => {
  const file = await open(t, { isStream: true });
  t.context.server.openCalls.drain();
  const server = await startScriptedServer(t, { maxStreamMs: 300 });
  const stream = request(server.port, { isStream: true, id: 'old-stream' });
  const unary = request(server.port, { id: 'old-call' });
  t.context.callers.push(stream, unary);
  (await until(() => server.find('old-stream'), 'the stream')).step(piece('a'));
  t.is(await stream.outcome, 'refused');
  t.is(stream.seen['grpc-status'], String(Status.DEADLINE_EXCEEDED));
  server.find('old-call')?.step('end');
  t.is(await unary.outcome, 'answered');
  const old = server.find('old-stream');
  old?.step('end'); // the method notices that its caller has gone
  await until(() => old?.ends.length, 'the end');
  t.is(old?.ends[0]?.code, Status.DEADLINE_EXCEEDED);
  file.scripted.step('end');
  t.is(await file.caller.outcome, 'answered', 'a file is sent to its end by a server that drains');
});

test('Address - a share that is released twice is given back once', async (t) => {
  const { scripted } = await open(t, {});
  const hold = () => t.context.server.openCalls.holdForAddress(scripted.call, 'a share');
  const first = hold();
  for (let held = 1; held < MAX_PER_ADDRESS; held += 1) hold();
  first();
  first();
  hold();
  t.throws(hold, { message: /at a time/ });
});
