/**
 * A walk over the table of envoy/config/kinds.ts: each kind of request, with each form of body, with a key that Envoy
 * knows, one that it does not, and none, over HTTP/1.1 and HTTP/2. What a cell expects follows from the contract, not
 * from the table.
 */
import { readFileSync } from 'node:fs';
import { status as Status } from '@grpc/grpc-js';
import { FILTERS, KINDS } from '../../envoy/config/kinds.ts';
import { Plan } from '../../gen/apiplatform/admin/v1/admin.ts';
import { hostileTest, leftOpen, PROBED } from '../hostile/campaign/service.ts';
import { callFrom, type Protocol, type Received } from '../support/calls/callers.ts';
import { type KindOfRequest, REQUESTS, TEXT } from './requests.ts';

const test = hostileTest(PROBED);

const JSON_TYPE = { 'content-type': 'application/json' };
const LARGEST = 65_536;
/** Only a body that does not come makes its caller wait. */
const AT_ONCE_MS = 15_000;
const [EARLIEST_MS, LATE_MS] = [25_000, 45_000];

/** Trailers over HTTP/1.1 are those of gRPC-Web. */
function protocolsOf({ headers }: KindOfRequest): readonly Protocol[] {
  return headers?.['content-type'] === 'application/grpc' ? ['HTTP/2'] : PROTOCOLS;
}

interface Body {
  readonly body?: string;
  readonly isUnfinished?: true;
  /** The length that the headers tell; undefined: none, so the body comes in chunks or frames. */
  readonly length?: number;
  /** The status of the fault with a key. */
  readonly fault?: number;
}

const BODIES: Readonly<Record<string, Body>> = {
  none: {},
  'of JSON': { body: '{}', length: 2 },
  'of JSON without a length': { body: '{}' },
  'that is not JSON': { body: "{'a':1}", length: 7, fault: 400 },
  'that is not JSON, without a length': { body: "{'a':1}", fault: 400 },
  'that is too large': { body: 'x', length: LARGEST + 1, isUnfinished: true, fault: 413 },
  'that never comes': { body: 'x', length: LARGEST, isUnfinished: true, fault: 408 },
  'that never ends': { body: 'x', isUnfinished: true, fault: 408 },
};
const KEYS = ['known', 'not known yet', 'none'] as const;
const PROTOCOLS: readonly Protocol[] = ['HTTP/1.1', 'HTTP/2'];

/** The protocol's statuses for two faults. */
const OF_CONNECT: Readonly<Record<number, number>> = { 408: 504, 413: 429 };

/** What needs no key has no body. One that its headers don't tell of is not read. */
const isIgnored = ({ open }: KindOfRequest, { fault, length }: Body) =>
  open !== undefined && fault === 400 && length === undefined;

function expected(kind: KindOfRequest, body: Body, key: string): number {
  const { row, status, open, byHeaders, hasNoRoute, empty } = kind;
  if (byHeaders || isIgnored(kind, body)) return status;
  const isSent = body.length !== undefined || body.fault !== undefined;
  if (key === 'none') return open === undefined || isSent ? 401 : open;
  const { fault } = body;
  if (hasNoRoute && fault === 400) return status;
  if (row === 'Connect' && body.body !== undefined) return OF_CONNECT[fault ?? 0] ?? fault ?? empty ?? status;
  return fault ?? status;
}

function expectedOfGrpc({ open, status }: KindOfRequest, body: Body, key: string): Status {
  if (key === 'none' && open === undefined) return Status.UNAUTHENTICATED;
  if (status === 404) return Status.UNIMPLEMENTED;
  if (body.isUnfinished) return Status.DEADLINE_EXCEEDED;
  if (body.body === undefined) return Status.UNIMPLEMENTED;
  return body.fault === undefined ? Status.OK : Status.INVALID_ARGUMENT;
}

/** What a call of gRPC sends in place of JSON: an empty message in its frame, or a part of a frame. */
function toFrames({ body, length, ...rest }: Body, type = ''): Body {
  if (body === undefined) return rest;
  const bytes = Buffer.alloc(body === '{}' ? 5 : 2);
  const frames = bytes.toString(type === TEXT ? 'base64' : 'latin1');
  return {
    ...rest,
    body: frames,
    ...(length === undefined ? {} : { length: rest.isUnfinished ? length : frames.length }),
  };
}

function grpcStatusOf({ headers, text }: Received): number {
  return Number(headers.get('grpc-status') ?? /grpc-status: ?(\d+)/.exec(text)?.[1]);
}

function faultsOf({ headers, text, status }: Received, method: string, isGrpc = false): string[] {
  const own = [...headers.keys()].filter((name) => /^x-(petstore|envoy)/.test(name)).map((name) => `has ${name}`);
  const isRight = isGrpc || status < 400 || method === 'HEAD' || /"code":"\w+","message":".+"/.test(text);
  return isRight ? own : [...own, 'no error of the API'];
}

test('Kinds - docs/internals/calls.md shows the table', (t) => {
  const page = readFileSync('docs/internals/calls.md', 'utf8');
  const cells = page
    .split('\n')
    .flatMap((line) => (line.startsWith('|') ? [line.split('|').map((cell) => cell.trim())] : []));
  for (const { name, judge, errors, without, to } of KINDS) {
    const runs = Object.keys(FILTERS).filter((filter) => !(filter in without));
    const row = [name, judge, runs.join(', '), typeof to === 'string' ? to : 'none', errors];
    t.deepEqual(cells.find(([, kind]) => kind === name)?.slice(1, -1), row);
  }
});

test('Kinds - each with any body and key has its answer in time and leaves nothing open', async (t) => {
  t.timeout(120_000);
  const { publicAddress, key, operator } = t.context;
  const door = { port: Number(publicAddress.split(':')[1]) };
  const rows = new Set(REQUESTS.map(({ row }) => row));
  for (const { name } of KINDS) t.true(rows.has(name), `${name} is walked`);
  const cells = REQUESTS.flatMap((kind) =>
    Object.entries(BODIES).flatMap(([name, body]) =>
      KEYS.flatMap((keyIs) => protocolsOf(kind).map((protocol) => ({ kind, name, body, keyIs, protocol }))),
    ),
  );
  const breaches: string[] = [];
  /** What each new account has asked, and how often that counts. */
  const asked: { readonly account: bigint; readonly about: string; readonly count: bigint }[] = [];
  const walk = async (cell: (typeof cells)[number], index: number) => {
    const { kind, name, keyIs, protocol } = cell;
    const body = kind.isGrpc ? toFrames(cell.body, kind.headers?.['content-type']) : cell.body;
    const [method = '', path = ''] = kind.request.split(' ');
    const about = `${kind.request}, body ${name}, key ${keyIs}, ${protocol}`;
    const account = keyIs === 'not known yet' ? (await operator.account(Plan.PLAN_PRO)).id : undefined;
    // A refusal counts, unless the kind is open and nothing of the body was awaited.
    const isCounted =
      kind.open === undefined ||
      (body.fault !== undefined && !kind.byHeaders && !kind.isGrpc && !isIgnored(kind, body));
    if (account !== undefined) asked.push({ account, about, count: isCounted ? 1n : 0n });
    const own = account === undefined ? key : (await operator.key(account)).key;
    const owned = keyIs === 'none' ? undefined : own;
    const inChunks = body.body !== undefined && body.length === undefined && protocol === 'HTTP/1.1';
    const headers = {
      ...(body.body === undefined ? {} : JSON_TYPE),
      ...kind.headers,
      ...(owned === undefined ? {} : { authorization: `Bearer ${owned}` }),
      ...(body.length === undefined ? {} : { 'content-length': String(body.length) }),
      ...(inChunks ? { 'transfer-encoding': 'chunked' } : {}),
    };
    // Each from an address of its own: without a key it has an allowance.
    const from = `127.3.${Math.floor(index / 250)}.${(index % 250) + 1}`;
    const beganMs = performance.now();
    const received = await callFrom(from, door, protocol, { method, path, headers, ...body }).catch(String);
    const tookMs = performance.now() - beganMs;
    if (typeof received === 'string') return void breaches.push(`${about}: ${received}`);
    const status = kind.isGrpc ? expectedOfGrpc(kind, body, keyIs) : expected(kind, body, keyIs);
    const actual = kind.isGrpc ? grpcStatusOf(received) : received.status;
    // Of a call that waits, Envoy says that it is too late if the server does not say so in time.
    const isUncounted = owned === undefined || kind.open !== undefined || (kind.isGrpc && isLate(cell));
    const faults = [
      ...(actual === status ? [] : [`${actual}, not ${status}`]),
      ...(isInTime(cell, tookMs) ? [] : [`after ${tookMs} ms`]),
      ...(isUncounted || received.headers.has('x-ratelimit-remaining') ? [] : ['not counted']),
      ...faultsOf(received, method, kind.isGrpc),
    ];
    if (faults.length > 0) breaches.push(`${about}: ${faults.join(', ')}: ${received.text.slice(0, 100)}`);
  };
  // Those that wait for half a minute do so side by side.
  const isLate = ({ kind, body, keyIs }: (typeof cells)[number]) =>
    kind.isGrpc
      ? body.isUnfinished && expectedOfGrpc(kind, body, keyIs) === Status.DEADLINE_EXCEEDED
      : body.fault === 408 && keyIs !== 'none';
  const isInTime = (cell: (typeof cells)[number], tookMs: number) => {
    const { open, byHeaders } = cell.kind; // what needs no key is not waited for as long
    const isWaitedFor = isLate(cell) && open === undefined && !byHeaders;
    return tookMs > (isWaitedFor ? EARLIEST_MS : 0) && tookMs < (isLate(cell) ? LATE_MS : AT_ONCE_MS);
  };
  const late = Promise.all(cells.map((cell, index) => isLate(cell) && walk(cell, index)));
  for (const [index, cell] of cells.entries()) if (!isLate(cell)) await walk(cell, index);
  await late;
  for (const { account, about, count } of asked) {
    const days = await operator.usage(account);
    const counted = days[0]?.requests ?? 0n;
    if (counted !== count) breaches.push(`${about}: counted ${counted} times`);
  }
  t.deepEqual(breaches, []);
  t.is(await leftOpen(t.context), undefined);
});
