/** A server whose launcher is gone ends: while it serves, and when that was amid its start. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import test from 'ava';
import { freePorts } from '../support/ports.ts';
import { createDataDir } from '../support/process.ts';

for (const moment of ['amid its start', 'while it serves']) {
  test(`A server - whose launcher goes ${moment} ends`, async (t) => {
    const { path, remove } = await createDataDir();
    const [port] = await freePorts(1);
    const env = { ...process.env, DATA_DIR: path, GRPC_PORT: String(port) };
    const server = spawn(process.execPath, ['src/main.ts'], { env, stdio: ['ignore', 'ignore', 'inherit', 'ipc'] });
    t.teardown(() => server.kill('SIGKILL'));
    const ended = once(server, 'exit');
    if (moment === 'while it serves') await once(server, 'message');
    server.disconnect();
    t.deepEqual(await ended, [0, null]);
    await remove();
  });
}
