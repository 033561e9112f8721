/** Checks the systemd units with systemd-analyze and against the service. systemd-run.test.ts runs them. */
import { execFile } from 'node:child_process';
import { cpSync, existsSync, globSync, mkdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { promisify } from 'node:util';
import type { TestFn } from 'ava';
import { SETTINGS } from '../../src/platform/config/settings.ts';
import { CLOSE_MS, DRAIN_MS } from '../../src/platform/launcher/component.ts';
import { ROOT } from '../../src/platform/launcher/paths.ts';
import { MAX_WAIT_MS } from '../../src/platform/rpc/readiness.ts';
import { missing } from '../support/machine/find-program.ts';
import { temporaryFolder } from '../support/machine/folder.ts';
import { testUnless } from '../support/machine/programs.ts';

const sh = promisify(execFile);
const FOLDER = join(ROOT, 'deploy/systemd');
const INSTALLED = '/opt/petstore';
/** The highest exposure level allowed, of 10. systemd rates levels up to 2 as OK. */
const MOST_EXPOSED = 2;

const services = globSync('*.service', { cwd: FOLDER });
const units = globSync('*.{service,timer}', { cwd: FOLDER });

const test = testUnless<unknown>(missing('systemd-analyze', 'systemd'));
/** Only root can create users and change the owners of folders. */
const rootTest = (process.getuid?.() === 0 ? test : test.skip) as TestFn;

test('Units - systemd-analyze verify reports nothing', async (t) => {
  const folder = temporaryFolder(t);
  cpSync(FOLDER, folder, { recursive: true, verbatimSymlinks: true });
  const files = units.map((name) => {
    const file = join(folder, name.replace('@', '@50051')); // an instance: a template is not loaded
    writeFileSync(file, read(name).replaceAll(INSTALLED, ROOT));
    return file;
  });
  const { stdout, stderr } = await sh('systemd-analyze', ['verify', ...files]);
  t.is(stdout + stderr, '');
});

for (const name of services) {
  test(`${name} - has an exposure level of at most ${MOST_EXPOSED} of 10`, async (t) => {
    const threshold = `--threshold=${MOST_EXPOSED * 10}`;
    const args = ['security', '--offline=true', threshold, '--no-pager', join(FOLDER, name)];
    const { stdout } = await sh('systemd-analyze', args).catch((error: { stdout: string }) => error);
    t.regex(stdout, /Overall exposure level for .*: [01]\.\d OK/);
  });

  test(`${name} - runs an existing file, with known settings and enough time for open requests`, (t) => {
    for (const [, variables = ''] of read(name).matchAll(/^Environment=(.+)$/gm)) {
      for (const variable of variables.split(' ')) {
        const setting = (variable.split('=')[0] ?? '').replace(/_FILE$/, '');
        t.true(Object.hasOwn(SETTINGS, setting), setting);
      }
    }
    const [, program = ''] = /^ExecStart=\S+ (\S+)/m.exec(read(name)) ?? [];
    t.true(existsSync(join(ROOT, program)), program);
    const [, seconds] = /^TimeoutStopSec=(\d+)$/m.exec(read(name)) ?? [];
    const untilEdgesKnowMs = name.startsWith('petstore-server') ? MAX_WAIT_MS : 0;
    if (seconds !== undefined) t.true(Number(seconds) * 1_000 > untilEdgesKnowMs + DRAIN_MS + 2 * CLOSE_MS, seconds);
  });
}

rootTest('Users and folders - are created without access for others', async (t) => {
  const folder = temporaryFolder(t);
  for (const kind of ['sysusers', 'tmpfiles']) {
    mkdirSync(join(folder, `usr/lib/${kind}.d`), { recursive: true });
    writeFileSync(join(folder, `usr/lib/${kind}.d/petstore.conf`), read(`petstore.${kind}.conf`));
  }
  mkdirSync(join(folder, 'etc'));
  await sh('systemd-sysusers', [`--root=${folder}`]);
  await sh('systemd-tmpfiles', ['--create', `--root=${folder}`]);
  const [, uid] = /^petstore:[^:]*:(\d+):/m.exec(readFileSync(join(folder, 'etc/passwd'), 'utf8')) ?? [];
  for (const [path, mode, owner] of [
    ['etc/petstore', 0o750, 0],
    ['etc/petstore/secrets', 0o700, 0],
    ['etc/petstore/internal', 0o2750, 0],
    ['var/lib/petstore', 0o700, Number(uid)],
    ['var/backups/petstore', 0o700, Number(uid)],
  ] as const) {
    const found = statSync(join(folder, path));
    t.deepEqual([found.mode & 0o7777, found.uid], [mode, owner], path);
  }
});

test("Certificates - the group can read their keys, only the owner can read the authority's key", async (t) => {
  const folder = join(temporaryFolder(t), 'internal');
  const { stdout } = await sh(join(ROOT, 'deploy/make-certificates.sh'), [folder, 'petstore-0', '10.0.0.11', '::1']);
  t.regex(stdout, /for DNS:petstore-0,IP:10\.0\.0\.11,IP:::1;/);
  const modes = ['ca.key', 'server.key', 'edge.key'].map((name) => statSync(join(folder, name)).mode & 0o777);
  t.deepEqual(modes, [0o600, 0o640, 0o640]);
});

function read(name: string): string {
  return readFileSync(join(FOLDER, basename(name)), 'utf8');
}
