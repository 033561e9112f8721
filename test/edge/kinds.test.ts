/**
 * A walk over the table of envoy/config/kinds.ts: each kind of request, with each form of body, with a key that Envoy
 * knows, one that it does not, and none, over HTTP/1.1 and HTTP/2. What a cell expects follows from the contract, not
 * from the table.
 */

import { KINDS } from '../../envoy/config/kinds.ts';
import { Plan } from '../../gen/petstore/admin/v1/admin.ts';
import { callFrom, type Protocol, type Received } from '../support/callers.ts';
import { leftOpen, PROBED } from '../support/hostile/probe.ts';
import { hostileTest } from '../support/hostile/service.ts';
import { connectOperator } from '../support/operator.ts';

const test = hostileTest(PROBED);

const JSON_TYPE = { 'content-type': 'application/json' };
const LARGEST = 65_536;
/** Only a body that does not come makes its caller wait. */
const AT_ONCE_MS = 15_000;
const LATE_MS = 45_000;

interface KindOfRequest {
  /** The row of the table. */
  readonly row: string;
  readonly request: `${string} ${string}`;
  readonly headers?: Readonly<Record<string, string>>;
  /** The status with a key and without a fault. */
  readonly status: number;
  /** The status without a key; undefined if it needs one. */
  readonly open?: number;
  /** Envoy responds by the headers, whatever else is sent. */
  readonly byHeaders?: true;
  /** No method answers to it, which is found out before the body is read. */
  readonly hasNoRoute?: true;
  /** The status of `{}`, where it is another. */
  readonly empty?: number;
}

const REQUESTS: readonly KindOfRequest[] = [
  { row: 'REST', request: 'GET /pets', status: 200 },
  { row: 'REST', request: 'HEAD /events/stream', status: 200 },
  { row: 'REST', request: 'DELETE /categories/999999', status: 404 },
  { row: 'REST', request: 'POST /store/orders', status: 201 },
  { row: 'REST', request: 'PUT /categories/999999', status: 400 },
  { row: 'REST', request: 'GET /nope', status: 404, hasNoRoute: true },
  { row: 'REST', request: 'POST /docs', status: 405, hasNoRoute: true },
  { row: 'redirect', request: 'GET /docs/', status: 302, open: 302, byHeaders: true },
  { row: 'redirect', request: 'GET /', headers: { accept: 'text/html' }, status: 302, open: 302, byHeaders: true },
  { row: 'file', request: 'GET /docs', status: 200, open: 200 },
  { row: '/healthz', request: 'GET /healthz', status: 200, open: 200 },
  { row: '/healthz', request: 'POST /healthz', status: 200, open: 200 },
  {
    row: 'Connect',
    request: 'POST /petstore.v1.PetService/ListPets',
    headers: { 'content-type': 'application/proto' },
    status: 200,
    empty: 400,
  },
  { row: 'Connect', request: 'PUT /petstore.v1.PetService/ListPets', status: 405, hasNoRoute: true },
];

/** What is sent after the headers. */
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

function expected({ row, status, open, byHeaders, hasNoRoute, empty }: KindOfRequest, body: Body, key: string): number {
  if (byHeaders) return status;
  const isSent = body.length !== undefined || body.fault !== undefined;
  if (key === 'none') return open === undefined || isSent ? 401 : open;
  const { fault } = body;
  if (hasNoRoute && fault === 400) return status;
  if (row === 'Connect' && body.body !== undefined) return OF_CONNECT[fault ?? 0] ?? fault ?? empty ?? status;
  return fault ?? status;
}

/** What is wrong with any response, whatever the cell. */
function faultsOf({ headers, text, status }: Received, method: string): string[] {
  const own = [...headers.keys()].filter((name) => /^x-(petstore|envoy)/.test(name)).map((name) => `has ${name}`);
  const isRight = status < 400 || method === 'HEAD' || /"code":"\w+","message":".+"/.test(text);
  return isRight ? own : [...own, 'no error of the API'];
}

test('Kinds - each with any body and key has its answer in time and leaves nothing open', async (t) => {
  t.timeout(120_000);
  const { publicAddress, key } = t.context;
  const door = { port: Number(publicAddress.split(':')[1]) };
  const operator = await connectOperator(t.context);
  const rows = new Set(REQUESTS.map(({ row }) => row));
  t.deepEqual(
    KINDS.map(({ name }) => name).filter((name) => !rows.has(name) && !/gRPC/.test(name)),
    [],
    'each row is walked; hostile/grpc-errors.test.ts and rest/requests.test.ts walk those of gRPC, and bad hosts',
  );
  const cells = REQUESTS.flatMap((kind) =>
    Object.entries(BODIES).flatMap(([name, body]) =>
      KEYS.flatMap((keyIs) => PROTOCOLS.map((protocol) => ({ kind, name, body, keyIs, protocol }))),
    ),
  );
  const breaches: string[] = [];
  const walk = async ({ kind, name, body, keyIs, protocol }: (typeof cells)[number], index: number) => {
    const [method = '', path = ''] = kind.request.split(' ');
    const owned = keyIs === 'none' ? undefined : keyIs === 'known' ? key : await operator.keyOf(Plan.PLAN_PRO);
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
    const about = `${kind.request}, body ${name}, key ${keyIs}, ${protocol}`;
    if (typeof received === 'string') return void breaches.push(`${about}: ${received}`);
    const status = expected(kind, body, keyIs);
    const isLate = tookMs > (body.fault === 408 ? LATE_MS : AT_ONCE_MS);
    const faults = [
      ...(received.status === status ? [] : [`${received.status}, not ${status}`]),
      ...(isLate ? [`after ${tookMs} ms`] : []),
      ...(owned === undefined || kind.open || received.headers.has('x-ratelimit-remaining') ? [] : ['not counted']),
      ...faultsOf(received, method),
    ];
    if (faults.length > 0) breaches.push(`${about}: ${faults.join(', ')}: ${received.text.slice(0, 100)}`);
  };
  // Those that wait for half a minute do so side by side.
  const isLate = ({ body, keyIs }: (typeof cells)[number]) => body.fault === 408 && keyIs !== 'none';
  const late = Promise.all(cells.map((cell, index) => isLate(cell) && walk(cell, index)));
  for (const [index, cell] of cells.entries()) if (!isLate(cell)) await walk(cell, index);
  await late;
  t.deepEqual(breaches, []);
  operator.close();
  t.is(await leftOpen(t.context), undefined);
});
