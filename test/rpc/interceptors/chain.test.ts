import test from 'ava';
import { ConfigError } from '../../../src/config/config.ts';
import { loadOperations } from '../../../src/proto/operations.ts';
import { chain, type Interceptor } from '../../../src/rpc/chain.ts';
import { createGrpcServer } from '../../../src/rpc/server.ts';
import { handler, newCall, RESPONSE } from '../../support/call.ts';

/** Records its name on the way in and on the way out. */
function tracer(name: string, trace: string[]): Interceptor {
  return async (call, next) => {
    trace.push(`${name} in`);
    try {
      return await next(call);
    } finally {
      trace.push(`${name} out`);
    }
  };
}

test('Chain - the first interceptor is the outermost', async (t) => {
  const trace: string[] = [];
  const { next, calls } = handler();
  const call = newCall('PetService/GetPet');
  t.is(await chain([tracer('a', trace), tracer('b', trace)], next)(call), RESPONSE);
  t.deepEqual(trace, ['a in', 'b in', 'b out', 'a out']);
  t.deepEqual(calls, [call]);
});

test('Chain - an interceptor that does not call `next` ends the call', async (t) => {
  const trace: string[] = [];
  const { next, calls } = handler();
  const wall = () => Promise.reject(new Error('no entry'));
  const enter = chain([tracer('a', trace), wall, tracer('b', trace)], next);
  await t.throwsAsync(enter(newCall('PetService/GetPet')), { message: 'no entry' });
  t.deepEqual(trace, ['a in', 'a out']);
  t.deepEqual(calls, []);
});

test('Server - a method that nothing serves ends the start with one line that says what to do', (t) => {
  const operations = loadOperations();
  const unused = undefined as never; // it fails before
  const options = { methods: [], forUnknown: [], operations, originOf: unused, openCalls: unused };
  const message = /^nothing serves \/\S+: add its service to src\/shop\/services\.ts or src\/server\.ts$/;
  t.throws(() => createGrpcServer(options), { instanceOf: ConfigError, message });
});
