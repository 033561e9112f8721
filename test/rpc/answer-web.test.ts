/** The cells of the table of answers (answer.test.ts) that callers of gRPC-Web reach, through Envoy. */
import { setTimeout as delay } from 'node:timers/promises';
import anyTest, { type TestFn } from 'ava';
import { HealthCheckRequest, HealthService } from '../../gen/grpc/health/v1/health.ts';
import { CategoryServiceService as Categories } from '../../gen/petstore/v1/categories.ts';
import { untilSum } from '../support/exposition.ts';
import { grpcFrame } from '../support/hostile/sockets.ts';
import { freePorts } from '../support/ports.ts';
import { startTestStack, type TestStack } from '../support/stack.ts';

const test = anyTest as TestFn<TestStack & { metricsPort: number }>;

test.before(async (t) => {
  const [metricsPort = 0] = await freePorts(1);
  t.context = { ...(await startTestStack({ METRICS_PORT: String(metricsPort) })), metricsPort };
});
test.after.always(({ context }) => context.close());

interface Cell {
  readonly path: string;
  readonly message?: Uint8Array;
  readonly withKey?: boolean;
  readonly headers?: Readonly<Record<string, string>>;
  /** Ends the call from the side of its caller, when the response has begun. */
  readonly isLeft?: boolean;
  readonly expected: RegExp;
}

const LIST = { path: Categories.listCategories.path, withKey: true };
const WATCH = { path: HealthService.watch.path, message: HealthCheckRequest.encode({ service: '' }).finish() };

const CELLS: Readonly<Record<string, Cell>> = {
  'open, respond': { ...LIST, expected: /grpc-status: ?0/ },
  'open, refuse': { ...LIST, withKey: false, expected: /grpc-status: ?16/ },
  'open, malformed': { ...LIST, message: Buffer.of(0xff), expected: /grpc-status: ?3/ },
  'open, deadline': { ...LIST, headers: { 'grpc-timeout': '1n' }, expected: /grpc-status: ?4/ },
  'streaming, deadline': { ...WATCH, headers: { 'grpc-timeout': '500m' }, expected: /grpc-status: ?4/ },
  'streaming, cancel': { ...WATCH, isLeft: true, expected: /^$/ },
};

/** The trailers of a response, wherever they are. */
async function send({ rest, key }: TestStack, { path, message, withKey, headers, isLeft }: Cell): Promise<string> {
  const caller = new AbortController();
  const response = await fetch(`${rest.url}${path}`, {
    method: 'POST',
    headers: {
      'content-type': 'application/grpc-web+proto',
      'x-grpc-web': '1',
      ...(withKey ? { authorization: `Bearer ${key}` } : {}),
      ...headers,
    },
    body: new Uint8Array(grpcFrame(message)),
    signal: caller.signal,
  });
  if (isLeft) {
    await delay(200);
    caller.abort();
    return '';
  }
  const inHeaders = [...response.headers].map(([name, value]) => `${name}: ${value}`).join('\n');
  return `${inHeaders}\n${await response.text()}`;
}

for (const [name, cell] of Object.entries(CELLS)) {
  test.serial(`Answer - gRPC-Web, ${name}: one answer, and nothing is left`, async (t) => {
    const { stack, metricsPort, rest } = t.context;
    t.regex(await send(t.context, cell), cell.expected);
    for (const kind of ['unary', 'stream']) {
      await untilSum(metricsPort, 'petstore_grpc_open_calls', { kind }, (sum) => sum === 0);
    }
    t.true(stack.servers[0]?.isRunning);
    t.is((await rest.withKey(undefined).get('/healthz')).status, 200);
  });
}
