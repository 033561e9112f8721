import test from 'ava';
import { ConfigError } from '../../../src/config/config.ts';
import { loadOperations } from '../../../src/proto/operations.ts';
import { toAccountId, toKeyId } from '../../../src/rpc/caller.ts';
import { type Call, chain, type Interceptor } from '../../../src/rpc/chain.ts';
import { createGrpcServer } from '../../../src/rpc/server.ts';
import { handler, newCall, RESPONSE } from '../../support/call.ts';

/** Records its name on the way in and on the way out. */
function tracer(name: string, trace: string[], after: Interceptor['after'] = {}): Interceptor {
  return {
    name,
    after,
    async intercept(call, next) {
      trace.push(`${name} in`);
      try {
        return await next(call);
      } finally {
        trace.push(`${name} out`);
      }
    },
  };
}

test('Chain - the first interceptor is the outermost', async (t) => {
  const trace: string[] = [];
  const enter = chain([tracer('a', trace), tracer('b', trace)], async () => {
    trace.push('handler');
    return RESPONSE;
  });
  await enter(newCall('PetService/GetPet'));
  t.deepEqual(trace, ['a in', 'b in', 'handler', 'b out', 'a out']);
});

test('Chain - without interceptors the handler is called', async (t) => {
  const { next, calls } = handler();
  const call = newCall('PetService/GetPet');
  t.is(await chain([], next)(call), RESPONSE);
  t.deepEqual(calls, [call]);
});

test('Chain - an interceptor that does not call `next` ends the call', async (t) => {
  const trace: string[] = [];
  const { next, calls } = handler();
  const wall: Interceptor = { name: 'wall', intercept: () => Promise.reject(new Error('no entry')) };
  const enter = chain([tracer('a', trace), wall, tracer('b', trace)], next);
  await t.throwsAsync(enter(newCall('PetService/GetPet')), { message: 'no entry' });
  t.deepEqual(trace, ['a in', 'a out']);
  t.deepEqual(calls, []);
});

test('Chain - what an interceptor adds to the call reaches the later ones', async (t) => {
  const { next, calls } = handler();
  const caller = {
    keyId: toKeyId(1n),
    accountId: toAccountId(2n),
    plan: 'free' as const,
    quota: { perMinute: 1, perDay: 1 },
  };
  const adds: Interceptor = { name: 'adds', intercept: (call, go) => go({ ...call, caller }) };
  await chain([adds], next)(newCall('PetService/GetPet'));
  t.deepEqual(calls[0]?.caller, caller);
});

test('Chain - concurrent calls are independent', async (t) => {
  const { next, calls } = handler();
  const enter = chain([tracer('a', [])], next);
  const requests: Call[] = [newCall('PetService/GetPet'), newCall('PetService/ListPets')];
  await Promise.all(requests.map(enter));
  t.deepEqual(calls, requests);
});

test('Chain - a wrong order fails at start and says why', (t) => {
  const first = tracer('first', []);
  const second = tracer('second', [], { first: 'so that the first is first' });
  t.notThrows(() => chain([first, second], handler().next));
  t.throws(() => chain([second, first], handler().next), {
    message: 'interceptor "second" must come after "first": so that the first is first',
  });
});

test('Chain - an interceptor that must come after a missing or misspelt one fails at start', (t) => {
  const second = tracer('second', [], { first: 'so that the first is first' });
  for (const others of [[], [tracer('frist', [])]]) {
    t.throws(() => chain([...others, second], handler().next), {
      message: 'interceptor "second" must come after "first": so that the first is first',
    });
  }
});

test('Server - a method that nothing serves ends the start with one line that says what to do', (t) => {
  const operations = loadOperations();
  const unused = undefined as never; // it fails before
  const options = { methods: [], forUnknown: [], operations, originOf: unused, openCalls: unused };
  const message = /^nothing serves \/\S+: add its service to src\/shop\/services\.ts or src\/server\.ts$/;
  t.throws(() => createGrpcServer(options), { instanceOf: ConfigError, message });
});
