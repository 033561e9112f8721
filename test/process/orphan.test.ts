/** A server exits after its launcher has ended, both during its start and while it serves. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import test from 'ava';
import { freePorts } from '../support/ports.ts';
import { createDataDir } from '../support/process.ts';

for (const moment of ['during its start', 'while it serves']) {
  test(`Orphaned server - exits when its launcher ends ${moment}`, async (t) => {
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
