/** Keys and invalid header values that callers send do not appear in the server's log. */
import { once } from 'node:events';
import { connect, type OutgoingHttpHeaders } from 'node:http2';
import { status as Code } from '@grpc/grpc-js';
import anyTest, { type TestFn } from 'ava';
import { AdminServiceService as Admin } from '../../gen/petstore/admin/v1/admin.ts';
import { CategoryServiceService as Categories } from '../../gen/petstore/v1/categories.ts';
import { generateKey } from '../../src/access/keys/format.ts';
import { createDataDir, type ServerProcess, startServerProcess } from '../support/process.ts';

const { serial: test, before, after } = anyTest as TestFn<{ server: ServerProcess; remove: () => Promise<void> }>;

const OWN_KEY = generateKey();
const THROW_ON_SIGNAL = "process.on('SIGUSR2',()=>{throw(new(Error)(process.env.KEY))})";

before(async (t) => {
  const { path, remove } = await createDataDir();
  const settings = { LOG_LEVEL: 'trace', GRPC_VERBOSITY: 'DEBUG', KEY: `no such key: ${OWN_KEY}` };
  const NODE_OPTIONS = `--import=data:text/javascript,${THROW_ON_SIGNAL}`;
  t.context = { server: await startServerProcess(path, { ...settings, NODE_OPTIONS }), remove };
});
after.always(async (t) => {
  const { server, remove } = t.context;
  server.grpc.close();
  await server.end('SIGKILL');
  await remove();
});

/** Sends a call with headers that the client of grpc-js refuses. Resolves with the gRPC status. */
async function call(
  { address }: ServerProcess,
  headers: OutgoingHttpHeaders,
  { path }: { readonly path: string } = Categories.listCategories,
): Promise<number> {
  const session = connect(`http://${address}`);
  try {
    const fixed = { 'content-type': 'application/grpc', te: 'trailers' };
    const target = { ':method': 'POST', ':path': path };
    const stream = session.request({ ...target, ...fixed, ...headers });
    let grpcStatus: unknown;
    for (const event of ['response', 'trailers']) {
      stream.on(event, (received) => {
        grpcStatus = received['grpc-status'] ?? grpcStatus;
      });
    }
    stream.resume().end(Buffer.alloc(5)); // an empty message
    await once(stream, 'close');
    return Number(grpcStatus);
  } finally {
    session.close();
  }
}

const NOT_ASCII = '\u00ff';

test('Headers - a value with a byte that is not ASCII is not in the log', async (t) => {
  const { server } = t.context;
  const long = `SECRET${'x'.repeat(50_000)}${NOT_ASCII}`;
  t.is(await call(server, { 'x-anything': long }), Code.UNAUTHENTICATED);
  t.is(await call(server, { authorization: `Bearer ${server.key}`, 'x-anything': `SECRET${NOT_ASCII}` }), Code.OK);
  t.is(await call(server, { authorization: `Bearer ${server.key}${NOT_ASCII}` }), Code.UNAUTHENTICATED);
  t.is(await call(server, { 'x-anything-bin': `SECRET${NOT_ASCII}` }), Code.UNAUTHENTICATED);
  const log = server.output + server.errors;
  t.regex(log, /"serving"/);
  t.notRegex(log, /SECRET|x-anything|Bearer/);
  t.false(log.includes(server.key));
  t.true(log.length < 5_000, `${log.length} characters`);
});

test('Keys - are removed from logged headers', async (t) => {
  const { server } = t.context;
  const made = [server.key, generateKey(), generateKey('pso')];
  for (const key of made) {
    const requestIds = [key, `id-${key}-1`, `${key}${key}`, encodeURIComponent(`"${key}"`)];
    for (const requestId of requestIds) {
      await call(server, { 'x-request-id': requestId });
      await call(server, { 'x-request-id': requestId, authorization: `Bearer ${server.key}` });
      await call(server, { 'x-request-id': requestId, authorization: `Bearer ${key}` }, Admin.listAccounts);
    }
  }
  await server.says(/"requestId":"id-\(a key\)-1"/);
  for (const key of made) t.false((server.output + server.errors).includes(key.slice(4)));
});

test('Keys - are removed from an error that ends the process', async (t) => {
  const { server } = t.context;
  t.deepEqual(await server.end('SIGUSR2'), { code: 1, signal: null });
  t.regex(server.errors, /^petstore: Error: no such key: \(a key\)\n/);
  t.false(server.errors.includes(OWN_KEY.slice(4)));
});
