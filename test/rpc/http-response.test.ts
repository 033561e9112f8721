/** Responses over plain HTTP, without Envoy: what is sent over the wire, and what happens when it can't be sent. */
import { status as Status } from '@grpc/grpc-js';
import anyTest, { type ExecutionContext, type TestFn } from 'ava';
import { anyError } from '../../src/error-table.ts';
import {
  type CallerProtocol,
  PROTOCOLS,
  piece,
  request,
  type ScriptedServer,
  startScriptedServer,
} from '../support/scripted-server.ts';
import { until } from '../support/until.ts';

const test = anyTest as TestFn<{ server: ScriptedServer; faults: unknown[] }>;
type Test = ExecutionContext<{ server: ScriptedServer; faults: unknown[] }>;

test.before(async (t) => {
  const faults: unknown[] = [];
  for (const event of ['uncaughtException', 'unhandledRejection']) process.on(event, (error) => faults.push(error));
  t.context = { server: await startScriptedServer(), faults };
});
test.after.always(({ context }) => context.server.close());

let ids = 0;

/** A call that is answered by these steps, after `prepare`. */
async function exchange(
  { context: { server } }: Test,
  protocol: CallerProtocol,
  steps: Parameters<NonNullable<ReturnType<ScriptedServer['find']>>['step']>[0][],
  { isStream = false, header }: { isStream?: boolean; header?: readonly [string, string] } = {},
) {
  ids += 1;
  const id = `exchange ${ids}`;
  const caller = request(server.port, { protocol, isStream, id });
  const scripted = await until(() => server.find(id), 'the call');
  if (header !== undefined) scripted.call.responseHeaders.set(...header);
  for (const step of steps) scripted.step(step);
  const outcome = await caller.outcome;
  const [end] = await until(() => scripted.ends.length > 0 && scripted.ends, 'the end');
  caller.session.destroy();
  return { outcome, fields: caller.fields(), body: caller.received(), end };
}

const SET = ['x-set', 'by an interceptor'] as const;

test('HTTP response - has status, headers and body, headers of the interceptors, no trailers', async (t) => {
  const { outcome, fields, body } = await exchange(t, 'REST', [piece('ok')], { header: SET });
  t.is(outcome, 'answered');
  t.like(fields, { ':status': 200, 'content-type': 'text/plain', 'content-length': '2', 'x-set': SET[1] });
  t.is(body.toString(), 'ok');
  t.is(fields['grpc-status'], undefined);
});

test('HTTP response - is sent for an error too, with the headers of the interceptors', async (t) => {
  for (const protocol of ['REST', 'Connect'] as const) {
    const { outcome, fields, body } = await exchange(t, protocol, [anyError('PET_NOT_FOUND', { petId: 8n })], {
      header: SET,
    });
    t.is(outcome, 'refused');
    t.like(fields, { ':status': 404, 'content-type': 'application/json', 'x-set': SET[1] });
    t.is(JSON.parse(body.toString()).code, protocol === 'REST' ? 'PET_NOT_FOUND' : 'not_found');
    t.is(fields['grpc-status'], undefined);
  }
});

test('HTTP response - may have no body', async (t) => {
  const { outcome, fields, body } = await exchange(t, 'REST', [piece('')]);
  t.deepEqual([outcome, fields[':status'], body.length], ['answered', 200, 0]);
});

test('HTTP response - is not sent to a gRPC caller of the same method', async (t) => {
  const { fields } = await exchange(t, 'gRPC', [piece('ok')], { header: SET });
  t.like(fields, { ':status': 200, 'content-type': 'application/grpc+proto', 'grpc-status': '0', 'x-set': SET[1] });
});

test('HTTP response - the pieces of a stream arrive as one body', async (t) => {
  const steps = [piece('a'), piece('b'), piece('c'), 'end'] as const;
  const { outcome, fields, body } = await exchange(t, 'REST', [...steps], { isStream: true });
  t.deepEqual([outcome, fields['content-type'], body.toString()], ['answered', 'text/plain', 'abc']);
});

/** Messages that can't be encoded, or not be sent. */
const BAD = {
  'a field of a wrong type': { ...piece('x'), data: 7 as never },
  'no message': null as never,
  'an unreadable field': Object.defineProperty({ ...piece('x') }, 'data', {
    enumerable: true,
    get: () => {
      throw new Error('it can not be read');
    },
  }),
} as const;

for (const protocol of PROTOCOLS) {
  for (const isStream of [false, true]) {
    for (const [what, message] of Object.entries(BAD)) {
      // The bytes of a piece are sent over REST as they are: nothing encodes them.
      if (protocol === 'REST' && isStream && what === 'a field of a wrong type') continue;
      test(`Failure - ${protocol}, ${isStream ? 'a stream' : 'unary'}: ${what} is INTERNAL`, async (t) => {
        const { outcome, end } = await exchange(t, protocol, [message, 'end'], { isStream });
        // A stream over plain HTTP that has begun is reset. So is one of Connect, which has no streams.
        t.is(outcome, isStream && protocol !== 'gRPC' ? 'reset' : 'refused');
        t.deepEqual([end?.code, end?.error?.code], [Status.INTERNAL, 'INTERNAL']);
        t.true(end?.error?.cause instanceof Error, 'the cause is for the log');
        t.deepEqual(t.context.faults, []);
      });
    }
  }
  for (const header of [
    [':broken', 'x'],
    ['x-line', 'a\nb'],
    ['x-wide', '猫'],
    ['connection', 'close'],
  ] as const) {
    for (const steps of [[piece('x')], [anyError('UNAVAILABLE')]] as const) {
      const kind = steps[0] instanceof Error ? 'an error' : 'a response';
      test(`Failure - ${protocol}: ${JSON.stringify(header)} in ${kind} is left out, or INTERNAL`, async (t) => {
        const { outcome, end } = await exchange(t, protocol, [...steps], { header });
        // Node drops a value that is invalid in HTTP; the rest arrives.
        const wanted = steps[0] instanceof Error ? 'refused' : 'answered';
        const code = steps[0] instanceof Error ? 'UNAVAILABLE' : undefined;
        t.deepEqual([outcome, end?.error?.code], outcome === wanted ? [wanted, code] : ['reset', 'INTERNAL']);
        t.deepEqual(t.context.faults, []);
        t.is((await exchange(t, protocol, [piece('ok')])).outcome, 'answered', 'other calls are served');
      });
    }
  }
}
