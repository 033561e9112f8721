/** A PgBouncer for a test, in front of a server of the test's own. `PGBOUNCER_PROGRAM` names another one. */
import { chown, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Scope } from '../scope.ts';
import { Program } from '../service/process.ts';
import { until } from '../until.ts';
import { findProgram, missing } from './find-program.ts';
import { temporaryFolder } from './folder.ts';
import { freePorts } from './ports.ts';
import { onPort, postgresMissing, query, serverOwner } from './postgres.ts';

const PROGRAM = process.env.PGBOUNCER_PROGRAM ?? findProgram(['pgbouncer'], ['/usr/sbin']);
export const pgbouncerMissing = missing('pgbouncer', undefined, ['/usr/sbin']) ?? postgresMissing;

/** Starts it in front of the server of `url`. */
export async function startPgBouncer(t: Scope, url: string, mode: 'transaction' | 'session' = 'transaction') {
  const owner = await serverOwner(); // PgBouncer and PostgreSQL refuse to run as root
  const folder = temporaryFolder(t);
  if (owner.uid !== undefined && owner.gid !== undefined) await chown(folder, owner.uid, owner.gid);
  const [port = 0] = await freePorts(1);
  const file = (name: string) => join(folder, name);
  await writeFile(file('users'), '"postgres" ""\n', { mode: 0o644 });
  const settings = [
    '[databases]',
    `* = host=127.0.0.1 port=${new URL(url).port}`,
    '[pgbouncer]',
    `listen_addr = 127.0.0.1\nlisten_port = ${port}\nunix_socket_dir =`,
    `auth_type = trust\nauth_file = ${file('users')}`,
    `pool_mode = ${mode}\ndefault_pool_size = 15\nmax_client_conn = 500\nserver_login_retry = 1`,
  ];
  await writeFile(file('pgbouncer.ini'), `${settings.join('\n')}\n`, { mode: 0o644 });
  const bouncer = new Program(PROGRAM ?? 'pgbouncer', ['-q', file('pgbouncer.ini')], { ...owner, cwd: tmpdir() });
  t.teardown(() => bouncer.end('SIGKILL'));
  /** Returns the URL of a database through PgBouncer. */
  const through = (database: string) => onPort(database, port);
  await until(() => query(through(url), 'SELECT 1').catch(() => undefined), 'PgBouncer');
  return { through };
}
