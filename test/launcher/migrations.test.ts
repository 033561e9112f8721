/** A real server that must migrate, on PostgreSQL, as its launcher starts it. */
import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { readConfig } from '../../src/platform/config/config.ts';
import { Instance } from '../../src/platform/launcher/instance.ts';
import { SERVER } from '../../src/platform/launcher/paths.ts';
import { openPostgres } from '../../src/platform/storage/postgres.ts';
import { MIGRATIONS } from '../../src/schema.ts';
import { temporaryFolder } from '../support/machine/folder.ts';
import { freePorts } from '../support/machine/ports.ts';
import { holding, postgresMissing, query, startPostgres } from '../support/machine/postgres.ts';
import { sharing } from '../support/service/sharing.ts';
import { until } from '../support/until.ts';

const test = sharing(postgresMissing, (t) => startPostgres(t, ['fsync=off']));

test('Start - a server whose migration takes longer than a start may take is waited for, and serves', async (t) => {
  const DATABASE_URL = await t.context.createDatabase();
  await (await openPostgres(DATABASE_URL, MIGRATIONS)).close();
  await query(DATABASE_URL, 'DROP TABLE key_uses');
  await query(
    DATABASE_URL,
    'ALTER TABLE bans DROP COLUMN duration_ms, DROP COLUMN refusals, DROP COLUMN window_seconds',
  );
  await query(DATABASE_URL, "DELETE FROM schema_migrations WHERE name = '005-key-uses'");
  const user = await holding(DATABASE_URL, 'BEGIN; LOCK TABLE bans');
  const folder = temporaryFolder(t);
  await mkdir(join(folder, 'logs'));
  const [port] = await freePorts(1);
  const env = { DATABASE_URL, DATA_DIR: folder, GRPC_PORT: String(port) };
  const server = new Instance(readConfig(env), 0, SERVER, env);
  t.teardown(() => server.stop(1_000));
  const lines: string[] = [];
  const [startMs, mayTakeMs] = [performance.now(), 9_000];
  const serving = server.start(mayTakeMs, (line) => lines.push(line));
  await until(() => lines.length > 0, 'the line');
  await delay(startMs + mayTakeMs + 500 - performance.now());
  await user.end();
  await serving;
  t.deepEqual(lines, ['The server migrates the database: 005-key-uses …']);
});
