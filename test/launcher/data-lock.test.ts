/** One service for each data folder. */
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { freePorts } from '../support/ports.ts';
import { launch, refusedWith, type Test, test } from './launch.ts';

async function otherPorts(): Promise<Readonly<Record<string, string>>> {
  const [port, grpcPort, adminPort] = await freePorts(3);
  return { PORT: `${port}`, GRPC_PORT: `${grpcPort}`, ENVOY_ADMIN_PORT: `${adminPort}` };
}

const pidFile = (t: Test) => join(t.context.settings.DATA_DIR ?? '', 'service.pid');

test.serial(
  'A second service - is refused on any ports, with the process of the first, which keeps running',
  async (t) => {
    const first = launch(t);
    const { url } = await first.opened();
    const config = readFileSync(join(t.context.settings.DATA_DIR ?? '', 'envoy.yaml'), 'utf8');
    const inUse = `${t.context.settings.DATA_DIR} is in use by another service, process ${first.pid}`;
    const line = `${inUse}: stop that one (kill ${first.pid}), or set DATA_DIR to another folder`;
    await refusedWith(t, launch(t, await otherPorts()), line);
    await refusedWith(t, launch(t), line);
    t.is((await fetch(`${url}/healthz`)).status, 200);
    t.is(readFileSync(join(t.context.settings.DATA_DIR ?? '', 'envoy.yaml'), 'utf8'), config);
    t.is(readFileSync(pidFile(t), 'utf8'), `${first.pid}\n`);
  },
);

test.serial('Two simultaneous starts - one service is refused, the other opens', async (t) => {
  const both = [launch(t), launch(t, await otherPorts())];
  const ends = await Promise.all(
    both.map((one) =>
      one.opened().then(
        () => 'opened',
        () => 'refused',
      ),
    ),
  );
  t.deepEqual(ends.toSorted(), ['opened', 'refused']);
  const refused = both[ends.indexOf('refused')];
  t.regex(refused?.errors ?? '', /^petstore: .* is in use by another service.*\n$/);
});

test.serial('kill -9 of the launcher - the next start succeeds immediately', async (t) => {
  const first = launch(t);
  await first.opened();
  await first.end('SIGKILL');
  t.true(existsSync(pidFile(t)));
  const next = launch(t);
  const { url } = await next.opened();
  t.is((await fetch(`${url}/healthz`)).status, 200);
  t.is(readFileSync(pidFile(t), 'utf8'), `${next.pid}\n`);
  t.deepEqual(await next.end('SIGTERM'), { code: 0, signal: null });
  t.false(existsSync(pidFile(t)));
});

test.serial('A stale pid file - with the pid of an unrelated process does not prevent a start', async (t) => {
  const first = launch(t);
  await first.opened();
  await first.end('SIGTERM');
  writeFileSync(pidFile(t), `${process.pid}\n`);
  await launch(t).opened();
  t.pass();
});
