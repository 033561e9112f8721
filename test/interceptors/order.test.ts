/** The order of interceptors is data: a server whose chains are in another order does not start. Of any service. */
import test from 'ava';
import { permission } from '../../src/platform/interceptors/permission.ts';
import { loadOperations } from '../../src/platform/proto/operations.ts';
import { chain, type Interceptor } from '../../src/platform/rpc/chain.ts';
import { RAW } from '../../src/platform/rpc/methods.ts';
import { serve } from '../../src/platform/rpc/server.ts';
import { chains } from '../../src/server.ts';
import { handler } from '../support/service/call.ts';

/** None of them runs. */
const never = new Proxy({}, { get: () => () => Promise.reject(new Error('it runs')) }) as never;
const parts = { keys: never, requests: never, turns: never, validate: never, records: never, auditLog: never };
const CHAINS: Readonly<Record<string, readonly Interceptor[]>> = chains({ ...parts, operatorKey: '' });
const start = (interceptors: readonly Interceptor[]) => chain(interceptors, handler().next);

for (const [name, interceptors] of Object.entries(CHAINS)) {
  test(`Interceptors - for ${name} start in their order, and with no two neighbours exchanged`, (t) => {
    t.notThrows(() => start(interceptors));
    for (const [index, first] of interceptors.slice(0, -1).entries()) {
      const second = interceptors[index + 1] as Interceptor;
      const exchanged = interceptors.with(index, second).with(index + 1, first);
      const { message: said } = t.throws(() => start(exchanged), undefined, `${second.name} before ${first.name}`);
      t.true(said.includes(first.name) || said.includes(second.name), said);
    }
  });
}

test('Interceptors - a note has one owner, and is there before it is needed', (t) => {
  const [first] = CHAINS.callers as [Interceptor];
  t.throws(() => start([first, first]), { message: 'authentication leaves `caller`, which one before it leaves' });
  t.throws(() => start([permission]), { message: 'permission needs `caller`, which no interceptor before it leaves' });
  const [open] = [...loadOperations().byPath.values()].filter(({ isPublic }) => isPublic);
  const codec = { ...RAW, path: open?.path ?? '' };
  t.throws(() => serve(loadOperations(), [{ codec, handler: never }], CHAINS.anybody ?? []), {
    message: `no interceptor of ${codec.path} identifies its caller`,
  });
});
