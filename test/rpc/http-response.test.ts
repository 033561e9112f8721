/** Responses that can't be encoded or sent, without Envoy. */
import { status as Status } from '@grpc/grpc-js';
import anyTest, { type ExecutionContext, type TestFn } from 'ava';
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

/** A call that is answered by these steps, with the header of an interceptor if there is one. */
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
  return { outcome, end };
}

/** Messages that can't be encoded. */
const BAD = {
  'no message': null as never,
  'an unreadable field': Object.defineProperty({ ...piece('x') }, 'data', {
    enumerable: true,
    get: () => {
      throw new Error('it can not be read');
    },
  }),
} as const;

for (const protocol of PROTOCOLS) {
  test(`Failure - ${protocol}: a message that can not be encoded is INTERNAL`, async (t) => {
    for (const isStream of [false, true]) {
      for (const [what, message] of Object.entries(BAD)) {
        const { outcome, end } = await exchange(t, protocol, [message, 'end'], { isStream });
        // A stream over plain HTTP that has begun is reset. So is one of Connect, which has no streams.
        t.is(outcome, isStream && protocol !== 'gRPC' ? 'reset' : 'refused', what);
        t.deepEqual([end?.code, end?.error?.code], [Status.INTERNAL, 'INTERNAL']);
        t.true(end?.error?.cause instanceof Error, 'the cause is for the log');
      }
    }
    t.deepEqual(t.context.faults, []);
  });

  test(`Failure - ${protocol}: a header that can not be sent is left out, or INTERNAL`, async (t) => {
    for (const header of [
      [':broken', 'x'],
      ['x-line', 'a\nb'],
      ['connection', 'close'],
    ] as const) {
      const { outcome, end } = await exchange(t, protocol, [piece('x')], { header });
      // Node drops a value that is invalid in HTTP; the rest arrives.
      t.deepEqual([outcome, end?.error?.code], outcome === 'answered' ? [outcome, undefined] : ['reset', 'INTERNAL']);
      t.is((await exchange(t, protocol, [piece('ok')])).outcome, 'answered', 'other calls are served');
    }
    t.deepEqual(t.context.faults, []);
  });
}
