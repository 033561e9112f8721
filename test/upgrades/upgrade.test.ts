/**
 * From release 1.0.0 to this one and back. `1.0.0.sqlite` and `1.0.0.dump` are backups that 1.0.0 made: never make them
 * again. Beside each is the key of its demo account.
 */
import { createHash } from 'node:crypto';
import { copyFileSync, mkdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { fromBinary } from '@bufbuild/protobuf';
import { FileDescriptorSetSchema } from '@bufbuild/protobuf/wkt';
import { status as Status } from '@grpc/grpc-js';
import test, { type ExecutionContext as Test } from 'ava';
import { WebServiceService as Web } from '../../gen/apiplatform/web/v1/web.ts';
import { CategoryServiceService as Categories } from '../../gen/petstore/v1/categories.ts';
import { EventServiceService as Events } from '../../gen/petstore/v1/events.ts';
import { InventoryServiceService as Inventory } from '../../gen/petstore/v1/inventory.ts';
import { OrderServiceService as Orders } from '../../gen/petstore/v1/orders.ts';
import { PetServiceService as Pets } from '../../gen/petstore/v1/pets.ts';
import { API_PACKAGE } from '../../src/identity.ts';
import { loadOperations } from '../../src/platform/proto/operations.ts';
import { openSqlite } from '../../src/platform/storage/sqlite.ts';
import { MIGRATIONS } from '../../src/schema.ts';
import { dumpsMissing, run } from '../deploy/backups.ts';
import { exchangeAlone } from '../support/calls/http2.ts';
import { grpcFrame, grpcHeaders, targetOf } from '../support/calls/sockets.ts';
import { change } from '../support/machine/database.ts';
import { temporaryFolder } from '../support/machine/folder.ts';
import { query, startPostgres } from '../support/machine/postgres.ts';
import { testUnless } from '../support/machine/programs.ts';
import { type ServerProcess, startServerProcess } from '../support/service/process.ts';
import type { Settings } from '../support/service/unlimited.ts';

/** What a newer release may leave behind. */
const NEWER = `CREATE TABLE colours (pet_id integer);
  INSERT INTO schema_migrations (name, batch, additive) VALUES ('999-colours', 1, true)`;

async function upgradeAndGoBack(t: Test, baseline: string, settings: Settings, migrate: (dataDir: string) => unknown) {
  const file = new URL(baseline, import.meta.url).pathname;
  const dataDir = join(temporaryFolder(t), 'data');
  mkdirSync(dataDir, { mode: 0o700 });
  copyFileSync(`${file}.key`, join(dataDir, 'demo.key'));
  for (const step of ['upgraded', 'back, and upgraded again']) {
    const { code, errors } = await run('restore', [file], { ...settings, DATA_DIR: dataDir });
    t.is(code, 0, errors);
    const server = await startServerProcess(t, dataDir, settings);
    await hasAll(t, server, step);
    await hasEvents(t, server, settings);
    t.is(await server.grpc.category(), 3n, 'ids go on');
    t.deepEqual(await server.end('SIGTERM'), { code: 0, signal: null });
    await migrate(dataDir);
  }
}

/** Checks the data of the baseline. */
async function hasAll(t: Test, { grpc }: ServerProcess, step: string): Promise<void> {
  const { categories } = await grpc.call(Categories.listCategories, { pageToken: '' });
  const named = categories.map(({ name, description }) => [name, description]);
  t.deepEqual(named, Object.entries({ Cats: 'All of them', Dogs: undefined }), step);
  const { pets } = await grpc.call(Pets.listPets, { ids: [], pageToken: '' });
  const owned = pets.map(({ name, categoryId }) => [name, categoryId]);
  t.deepEqual(owned, Object.entries({ Tom: 1n, Kitty: 1n, Rex: 2n }), step);
  const { items } = await grpc.call(Inventory.listInventory, { pageToken: '' });
  const quantities = items.map(({ quantity }) => quantity);
  t.deepEqual(quantities, [1, 0, 0], step);
  const { orders } = await grpc.call(Orders.listOrders, { pageToken: '' });
  const placed = orders.map(({ petId, quantity, complete }) => ({ petId, quantity, complete }));
  const [open, done] = [
    { petId: 1n, quantity: 2, complete: false },
    { petId: 1n, quantity: 1, complete: true },
  ];
  t.deepEqual(placed, [open, done], step);
}

/** The feed begins with what there was, and has what a release without events writes beside this one. */
async function hasEvents(t: Test, { grpc, dataDir }: ServerProcess, { DATABASE_URL }: Settings): Promise<void> {
  const feed = async () => (await grpc.call(Events.listEvents, { after: 0n, types: [], limit: 100 })).events;
  const before = await feed();
  const named = before.flatMap(({ pet, category }) => pet?.name ?? category?.name ?? []);
  t.deepEqual(named, ['Cats', 'Dogs', 'Tom', 'Kitty', 'Rex']);
  t.is(before.filter(({ type }) => type === 'order.created').length, 2);
  const write = "UPDATE pets SET name = 'Max' WHERE name = 'Rex'; UPDATE pets SET name = 'Rex' WHERE name = 'Max'";
  await (DATABASE_URL === undefined ? change(dataDir, write) : query(DATABASE_URL, write));
  const later = (await feed()).slice(before.length);
  const changes = later.map(({ type, pet }) => `${type} ${pet?.name}`);
  t.deepEqual(changes, ['pet.updated Max', 'pet.updated Rex']);
}

test('Migrations - since 1.0.0 only add, so that its servers work beside those of this release', (t) => {
  const names = MIGRATIONS.filter(({ isAdditive }) => !isAdditive).map(({ name }) => name);
  t.deepEqual(names, ['001-catalogue']);
});

test('Internal methods - answer under the names by which edges and the command of 1.0.0 call them', async (t) => {
  const { file } = fromBinary(FileDescriptorSetSchema, readFileSync(new URL('1.0.0.binpb', import.meta.url)));
  const methods = file
    .filter((one) => one.package !== API_PACKAGE)
    .flatMap(({ package: prefix, service }) =>
      service.flatMap(({ name, method }) => method.map((one) => ({ prefix, suffix: `${name}/${one.name}` }))),
    );
  t.is(methods.length, 18);
  const secrets = { EDGE_SECRET: 'the-secret-of-this-test', OPERATOR_KEY: 'the-operator-of-this-test' };
  const server = await startServerProcess(t, temporaryFolder(t), secrets);
  const send = async (path: string) => {
    const key = path.includes('.admin.') ? secrets.OPERATOR_KEY : server.key;
    const sent = { ...grpcHeaders(path, key), 'x-petstore-edge': secrets.EDGE_SECRET, 'x-request-id': 'this' };
    const message = path.endsWith('/GetFile') ? Web.getFile.requestSerialize({ file: 'docs' }) : Buffer.of();
    const options = { body: grpcFrame(message) };
    const { status, headers, body } = await exchangeAlone(targetOf(server.address, '127.0.0.1'), sent, options);
    return { status, code: headers.get('grpc-status'), body: body.toString() };
  };
  for (const { prefix, suffix } of methods) {
    const [today = ''] = [...loadOperations().byPath.keys()].filter((path) => path.endsWith(`.${suffix}`));
    const response = await send(today);
    t.not(response.code, String(Status.UNIMPLEMENTED), today);
    t.deepEqual(await send(`/${prefix}.${suffix}`), response, today);
  }
});

/** Digests of what each migration adds to the schema of a new SQLite file. A row never changes. */
const MADE: Readonly<Record<string, string>> = {
  '002-accounts': '8dbc90bc8a84d2fc',
  '003-usage': '5a6a5462c149d4fa',
  '005-key-uses': 'b4e42549ca65dd34',
  '004-idempotency': '2b5f7493906def5f',
  '006-event-table': '01a6907977d391ae',
  '001-catalogue': '058863d9acf6646a',
  '006-events': '6d07fb0da3579474',
  '007-key-permissions': 'a824637fe2e042aa',
  '008-event-histories': '7af502c5f707f188',
};

/** The tables, indexes and triggers of a SQLite file, with their SQL. */
function schemaOf(file: string) {
  const database = new DatabaseSync(file, { readOnly: true });
  const made = database.prepare("SELECT type, name, sql FROM sqlite_master WHERE name NOT LIKE 'sqlite_%'").all();
  database.close();
  return made.map(({ type, name, sql }) => ({ name: `${type} ${name}`, sql: `${sql}` }));
}

test('Migrations - each makes what it made when it was new, and has a name of its own', async (t) => {
  const file = join(temporaryFolder(t), 'new.sqlite');
  const made: Record<string, string> = {};
  for (const [index, { name }] of MIGRATIONS.entries()) {
    const before = index === 0 ? [] : schemaOf(file).map(({ sql }) => sql);
    await (await openSqlite(file, MIGRATIONS.slice(0, index + 1))).close();
    const added = schemaOf(file).filter(({ sql }) => !before.includes(sql));
    made[name] = createHash('sha256').update(JSON.stringify(added)).digest('hex').slice(0, 16);
  }
  t.deepEqual(made, MADE, 'add the row of a new migration to MADE; a migration that is released never changes');
  t.is(Object.keys(made).length, MIGRATIONS.length);
});

test('Migrations - where 006-events has made the table of events, nothing changes', async (t) => {
  const dataDir = temporaryFolder(t);
  const file = join(dataDir, 'petstore.sqlite');
  await (await openSqlite(file, MIGRATIONS)).close();
  const before = schemaOf(file);
  change(dataDir, "DELETE FROM schema_migrations WHERE name = '006-event-table'");
  await (await openSqlite(file, MIGRATIONS)).close();
  t.deepEqual(schemaOf(file), before);
});

test('SQLite - from 1.0.0 to this release and back', (t) =>
  upgradeAndGoBack(t, '1.0.0.sqlite', {}, (dataDir) => change(dataDir, NEWER)));

testUnless(dumpsMissing)('PostgreSQL - from 1.0.0 to this release and back', async (t) => {
  const postgres = await startPostgres(t, ['fsync=off']);
  const url = await postgres.createDatabase();
  await upgradeAndGoBack(t, '1.0.0.dump', { DATABASE_URL: url }, () => query(url, NEWER));
  const digest = "SELECT DISTINCT md5(prosrc) AS digest FROM pg_proc WHERE proname = 'record_event'";
  t.deepEqual(
    await query(url, digest),
    [{ digest: '44348c3db8bf5648731c6c54d8ee1390' }],
    'as the migration has made it, and always makes it',
  );
});
