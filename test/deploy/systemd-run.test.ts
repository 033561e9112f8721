/** The units under a systemd that is process 1, installed as docs/operations.md says, with its sandbox and secrets. */
import { readFileSync } from 'node:fs';
import { ROOT } from '../../src/platform/launcher/paths.ts';
import { missing, sh } from '../support/machine/find-program.ts';
import { NAMESPACES, noNamespaces } from '../support/machine/namespaces.ts';
import { postgresMissing } from '../support/machine/postgres.ts';
import { temporaryFolder } from '../support/scope.ts';
import { childrenOf, Program } from '../support/service/process.ts';
import { sharing } from '../support/service/sharing.ts';
import { until } from '../support/until.ts';

const PAGE = readFileSync(`${ROOT}/docs/operations.md`, 'utf8');
const [INSTALL = ''] = /^cp deploy\/systemd[\s\S]+?(?=^```)/m.exec(PAGE) ?? [];

const DATABASES = `
  mkdir /run/database && chown postgres /run/database
  as_postgres() { cd /run/database; setpriv --reuid=postgres --regid=postgres --clear-groups "$@" >/dev/null; }
  bin=$(ls -d /usr/lib/postgresql/*/bin | tail -1)
  as_postgres $bin/initdb --pgdata=data --auth=trust --username=postgres --no-sync
  as_postgres $bin/pg_ctl --pgdata=data --wait --options="-c unix_socket_directories=/run/database" --log=log start
  redis-server --daemonize yes --save "" >/dev/null`;

const SETTINGS = `
  cd /etc/petstore/secrets
  echo postgres://postgres@127.0.0.1/postgres | tee database-url >migration-database-url
  echo redis://127.0.0.1:6379 >redis-url
  openssl rand -hex 24 >operator-key
  chmod 600 *
  echo 127.0.0.1 petstore-0 >>/etc/hosts
  /opt/petstore/deploy/make-certificates.sh /etc/petstore/internal petstore-0
  printf '%s\\n' HOST=127.0.0.1 PORT=443 SERVERS=petstore-0:50051 >/etc/petstore/edge.env`;

/** systemd as process 1 in namespaces of its own: see systemd-boot.sh. It needs root. */
const test = sharing(missing('systemctl', 'systemd') ?? noNamespaces ?? postgresMissing, async (t) => {
  const args = [...NAMESPACES, 'sh', `${import.meta.dirname}/systemd-boot.sh`, temporaryFolder(t), ROOT];
  const outside = new Program('unshare', args);
  t.teardown(() => outside.end('SIGKILL'));
  /** Runs commands beside systemd, in /opt/petstore. Resolves with their output; rejects if one fails. */
  const run = async (commands: string): Promise<string> => {
    const [inside] = await childrenOf(outside.pid);
    const enter = ['--target', String(inside?.pid), '--all', 'sh', '-euc', `cd /opt/petstore; ${commands}`];
    return (await sh('nsenter', enter, { timeout: 60_000 })).stdout;
  };
  await until(() => run('systemctl is-system-running').catch(() => undefined), 'systemd');
  await run(INSTALL);
  return { run };
});

test.serial('Users and folders - are created without access for others', async (t) => {
  const folders = '/etc/petstore /etc/petstore/secrets /etc/petstore/internal /var/lib/petstore /var/backups/petstore';
  t.deepEqual((await t.context.run(`stat --format '%a %U' ${folders}`)).trim().split('\n'), [
    ...['750 root', '700 root', '2750 root'],
    ...['700 petstore', '700 petstore'],
  ]);
});

const HEALTHZ = 'curl --silent --output /dev/null --write-out "%{http_code}" http://127.0.0.1:443/healthz';
const processes = 'ps -eo user:20,comm | sort -u | grep -E "node|envoy"';

test.serial('petstore.service - serves on port 443 as its own user, and stops cleanly', async (t) => {
  const { run } = t.context;
  await run("printf '%s\\n' HOST=127.0.0.1 PORT=443 >/etc/petstore/petstore.env; systemctl start petstore");
  t.is(await run(HEALTHZ), '200');
  t.deepEqual([...new Set((await run(processes)).match(/^\w+/gm))], ['petstore']);
  await run('systemctl start petstore-backup; ls /var/backups/petstore/*.sqlite');
  await run('systemctl stop petstore');
  t.is(await run('systemctl show petstore --property=Result'), 'Result=success\n');
});

test.serial('Several machines - a start that fails ends at once and is repeated until the server serves', async (t) => {
  const { run } = t.context;
  await run(DATABASES);
  await run(SETTINGS);
  await t.throwsAsync(run('systemctl start petstore-server@50051'), { message: /control process exited/ });
  await run('systemctl start petstore-migrate');
  await until(() => run('systemctl is-active petstore-server@50051').catch(() => undefined), 'the next start');
});

test.serial('Several machines - migration, server and edge serve with the secrets that root alone reads', async (t) => {
  const { run } = t.context;
  await run('systemctl start petstore-migrate; systemctl restart petstore-server@50051');
  await run('bash -c ": </dev/tcp/petstore-0/50051"'); // it is started when it serves
  await run('systemctl start petstore-edge');
  await until(async () => (await run(HEALTHZ)) === '200', 'a 200');
  await run('systemctl stop petstore-edge petstore-server@50051');
  const results = await run('systemctl show petstore-edge petstore-server@50051 --property=Result');
  t.deepEqual(results.trim().split(/\n+/), ['Result=success', 'Result=success']);
});

test.serial('Sandbox - no unit starts without its file', async (t) => {
  const { run } = t.context;
  await run('rm /etc/systemd/system/petstore*.service.d/sandbox.conf; systemctl daemon-reload');
  const units = ['petstore', 'petstore-backup', 'petstore-edge', 'petstore-migrate'];
  for (const unit of [...units, 'petstore-server@50051'])
    await t.throwsAsync(run(`systemctl start ${unit}`), { message: /Assertion failed/ }, unit);
});
