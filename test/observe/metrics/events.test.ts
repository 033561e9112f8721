/** The metrics of the feed of events. */
import { Client as Grpc } from '@grpc/grpc-js';
import { Client } from 'pg';
import { AdminServiceService as Admin } from '../../../gen/petstore/admin/v1/admin.ts';
import { EventServiceService as Events } from '../../../gen/petstore/v1/events.ts';
import { createClient, type PetstoreClient } from '../../../src/client/index.ts';
import { scrape, sumOf, untilSum } from '../../support/exposition.ts';
import { bearer, insecure } from '../../support/grpc.ts';
import { connectOperator } from '../../support/operator.ts';
import { freePorts } from '../../support/ports.ts';
import { connectPostgres, postgresMissing, type TestPostgres } from '../../support/postgres.ts';
import { createDataDir, type ServerProcess, startServerProcess } from '../../support/process.ts';
import { testUnless } from '../../support/programs.ts';

interface Context {
  readonly postgres: TestPostgres;
  readonly url: string;
  readonly server: ServerProcess;
  readonly client: PetstoreClient;
  readonly port: number;
  readonly remove: () => Promise<void>;
}
const test = testUnless<Context>(postgresMissing);

const ENDED = 'petstore_event_streams_ended_total';

test.before(async (t) => {
  const [{ path, remove }, postgres, [port = 0]] = await Promise.all([
    createDataDir(),
    connectPostgres(),
    freePorts(1),
  ]);
  const url = await postgres.createDatabase();
  const server = await startServerProcess(path, { METRICS_PORT: String(port), DATABASE_URL: url });
  const client = createClient({ address: server.address, apiKey: server.key });
  t.context = { postgres, url, server, client, port, remove };
});
test.after.always(async ({ context: { postgres, url, server, client, remove } }) => {
  await client?.close();
  server?.grpc.close();
  await server?.end('SIGTERM');
  await postgres?.dropDatabase(url);
  await postgres?.stop();
  await remove?.();
});

/** Follows all events until the function that is returned is called. */
function follow(client: PetstoreClient): () => Promise<void> {
  const abort = new AbortController();
  const following = Array.fromAsync(client.events({ after: 0n, signal: abort.signal })).catch(() => undefined);
  return async () => {
    abort.abort();
    await following;
  };
}

test.serial(
  'Events - open streams, the events sent to each, and streams that their callers end are shown',
  async (t) => {
    const { server, client, port } = t.context;
    const stops = [follow(client), follow(client)];
    await untilSum(port, 'petstore_grpc_open_calls', { kind: 'feed' }, (sum) => sum === 2);
    t.is(sumOf(await scrape(port), 'petstore_grpc_open_calls', { kind: 'stream' }), 0);
    for (let count = 0; count < 3; count += 1) await server.grpc.category();
    await untilSum(port, 'petstore_events_sent_total', {}, (sum) => sum === 6);
    for (const stop of stops) await stop();
    await untilSum(port, ENDED, { reason: 'caller' }, (sum) => sum === 2);
    t.is(sumOf(await scrape(port), ENDED), 2);
    await untilSum(port, 'petstore_grpc_open_calls', { kind: 'feed' }, (sum) => sum === 0);
  },
);

test.serial('Events - a stream whose key is revoked has ended for that, and is no server error', async (t) => {
  const { server, port } = t.context;
  const operator = await connectOperator({ grpcAddress: server.address, config: { dataDir: server.dataDir } });
  t.teardown(() => operator.close());
  const { id, key } = await operator.key((await operator.account({ perMinute: 100, perDay: 100 })).id);
  const client = createClient({ address: server.address, apiKey: key });
  t.teardown(() => client.close());
  const stop = follow(client);
  await untilSum(port, 'petstore_grpc_open_calls', { kind: 'feed' }, (sum) => sum === 1);
  await operator.call(Admin.revokeKey, { keyId: id });
  await untilSum(port, ENDED, { reason: 'key' }, (sum) => sum === 1);
  await stop();
  t.is(sumOf(await scrape(port), 'petstore_errors_total', { reason: 'UNAVAILABLE' }), 0);
});

test.serial('Events - a stream whose own deadline passes is ended by its caller, and is no server error', async (t) => {
  const { server, port } = t.context;
  const before = sumOf(await scrape(port), ENDED, { reason: 'caller' }) ?? 0;
  const { path, requestSerialize, responseDeserialize } = Events.watchEvents;
  const grpc = new Grpc(server.address, insecure);
  t.teardown(() => grpc.close());
  const request = { after: undefined, types: [] };
  const options = { deadline: Date.now() + 500 };
  const watch = grpc.makeServerStreamRequest(
    ...([path, requestSerialize, responseDeserialize, request, bearer(server.key), options] as const),
  );
  await t.throwsAsync(watch.toArray(), { message: /DEADLINE_EXCEEDED/ });
  await untilSum(port, ENDED, { reason: 'caller' }, (sum) => sum === before + 1);
  t.is(sumOf(await scrape(port), 'petstore_errors_total', { reason: 'DEADLINE_EXCEEDED' }), 0);
});

test.serial('Events - a feed that stands still while writes go on is shown, until it moves on', async (t) => {
  const { server, client, port, url } = t.context;
  const stalled = 'petstore_events_stalled_seconds';
  t.is(sumOf(await scrape(port), stalled), 0);
  const stop = follow(client);
  await untilSum(port, 'petstore_grpc_open_calls', { kind: 'feed' }, (sum) => sum === 1);
  const long = new Client({ connectionString: url });
  await long.connect();
  await long.query("BEGIN; INSERT INTO categories (name) VALUES ('late')");
  t.true((sumOf(await scrape(port), stalled) ?? 9) < 1);
  await server.grpc.category();
  await untilSum(port, stalled, {}, (sum) => sum > 2);
  await long.query('COMMIT');
  await untilSum(port, stalled, {}, (sum) => sum < 1);
  await long.end();
  await stop();
  t.pass();
});
