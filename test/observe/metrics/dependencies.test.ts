/** The metrics of PostgreSQL, Redis and the feed: available, unavailable, and available again. */
import { PetServiceService as Pets } from '../../../gen/petstore/v1/pets.ts';
import { watchEvents } from '../../support/calls/event-source.ts';
import { holding } from '../../support/machine/postgres.ts';
import { freePorts } from '../../support/scope.ts';
import { scrape, sumOf, untilSum } from '../../support/service/exposition.ts';
import { startTestServer } from '../../support/service/server.ts';
import { sharedMissing, startShared } from '../../support/service/shared.ts';
import { sharing } from '../../support/service/sharing.ts';

const test = sharing(sharedMissing, async (t) => {
  const [shared, [port = 0]] = await Promise.all([startShared(t), freePorts(1)]);
  const settings = await shared.settings();
  const server = await startTestServer(t, { ...settings, METRICS_PORT: String(port) });
  return { shared, url: settings.DATABASE_URL ?? '', server, port };
});

test.serial('Events - a feed that stands still while writes go on is shown, until it moves on', async (t) => {
  const { server, port, url } = t.context;
  const stalled = 'petstore_events_stalled_seconds';
  t.is(sumOf(await scrape(port), stalled), 0);
  const feed = watchEvents(server.address, server.key);
  await untilSum(port, 'petstore_grpc_open_calls', { kind: 'feed' }, (sum) => sum === 1);
  const long = await holding(url, "BEGIN; INSERT INTO categories (name) VALUES ('late')");
  t.true((sumOf(await scrape(port), stalled) ?? 9) < 1);
  await server.grpc.category();
  await untilSum(port, stalled, {}, (sum) => sum > 1);
  await long.query('COMMIT');
  await untilSum(port, stalled, {}, (sum) => sum < 1);
  await long.end();
  feed.close();
  await untilSum(port, stalled, {}, (sum) => sum === 0); // nobody reads
});

test.serial('Redis - is shown as up, or as down while this server counts by itself', async (t) => {
  const { server, shared, port } = t.context;
  await untilSum(port, 'petstore_redis_up', {}, (sum) => sum === 1);
  await shared.redis.kill();
  await server.grpc.category();
  await untilSum(port, 'petstore_redis_up', {}, (sum) => sum === 0);
  await shared.redis.startAgain();
  await t.notThrowsAsync(untilSum(port, 'petstore_redis_up', {}, (sum) => sum === 1));
});

test.serial('Database - is shown as up, or as down while calls fail', async (t) => {
  const { server, shared, port } = t.context;
  await untilSum(port, 'petstore_database_up', {}, (sum) => sum === 1);
  const read = () => server.grpc.call(Pets.getPet, { petId: 1n }).catch((error: unknown) => error);
  await shared.postgres.kill();
  await read();
  await untilSum(port, 'petstore_database_up', {}, (sum) => sum === 0);
  t.true((sumOf(await scrape(port), 'petstore_errors_total', { reason: 'UNAVAILABLE' }) ?? 0) > 0);
  await shared.postgres.start();
  await untilSum(port, 'petstore_database_up', {}, (sum) => {
    void read();
    return sum === 1;
  });
});
