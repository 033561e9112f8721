/** A component that dies or freezes is restarted, and the others keep running. One service has all faults. */
import { readFile, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { readConfig } from '../../src/platform/config/config.ts';
import { findEnvoy } from '../../src/platform/launcher/envoy.ts';
import { isRunning } from '../support/service/process.ts';
import { until } from '../support/until.ts';
import { launchForAll, type Test, test } from './launch.ts';

/** Envoy, whose thread never ends a request with the header. */
const HANGING = `#!/bin/sh
for file; do
  case $file in *envoy.yaml) break ;; esac
done
hang='function(handle) while handle:headers():get("x-hang") do end return require("caller").on_request(handle) end'
sed "s/^\\( *envoy_on_request = \\)require(.caller.).on_request$/\\1$hang/" "$file" > "$file.new"
mv "$file.new" "$file"
exec '${findEnvoy(readConfig({ ENVOY: process.env.ENVOY }))}' "$@"
`;

/** A server that a signal sends into an endless loop. */
const NODE_OPTIONS = `--import=data:text/javascript,${encodeURIComponent("process.on('SIGURG', () => { for (;;); })")}`;

const shared = launchForAll(async ({ DATA_DIR = '' }) => {
  const ENVOY = join(dirname(DATA_DIR), 'hanging-envoy');
  await writeFile(ENVOY, HANGING, { mode: 0o700 });
  return { ENVOY, NODE_OPTIONS };
});

/** Asserts that a victim is restarted, and the other one keeps running. Resolves with how long that took. */
async function recovers(t: Test, victim: 'server' | 'envoy', line: RegExp, end: (pid: number) => unknown) {
  const { launcher, rest } = shared;
  const [survivor, name] = victim === 'server' ? (['envoy', 'The server'] as const) : (['server', 'Envoy'] as const);
  const before = await launcher.pair();
  const startMs = performance.now();
  await end(before[victim].pid);
  await launcher.says(line);
  await launcher.says(new RegExp(`\\n${name} serves again\\.\\n`));
  const statusNow = () => rest.get('/pets').then(({ status }) => status); // rejects while the port is not open
  await until(async () => (await statusNow().catch(() => 0)) === 200, 'a response');
  const tookMs = performance.now() - startMs;
  const after = await launcher.pair();
  t.false(isRunning(before[victim]));
  t.is(after[survivor].pid, before[survivor].pid);
  t.is(launcher.errors, '');
  return tookMs;
}

/** Less than 5 s on an idle machine. A busy one may be five times slower. */
const RETURN_MS = 25_000;

test.beforeEach(() => shared.launcher.skipOutput());

const FAULTS = [
  ['server', 'SIGKILL', /The server ended unexpectedly \(signal SIGKILL\): see .*server\.log\. Starting it again/],
  ['server', 'SIGSTOP', /The server has not responded 4 times in a row: it is killed\.\n/],
  ['envoy', 'SIGKILL', /Envoy ended unexpectedly \(signal SIGKILL\): see .*envoy\.log\. Starting it again/],
  ['envoy', 'SIGSTOP', /Envoy has not responded 6 times in a row: it is killed\.\n/],
] as const;

for (const [victim, signal, line] of FAULTS) {
  test.serial(`${signal} of ${victim} - it is restarted, and the other one keeps running`, async (t) => {
    const tookMs = await recovers(t, victim, line, (pid) => process.kill(pid, signal));
    if (signal === 'SIGKILL') t.true(tookMs < RETURN_MS, `${tookMs} ms`);
  });
}

test.serial('A server that hangs - leaves its last calls in its log, and is restarted', async (t) => {
  const { folder, rest } = shared;
  await rest.get('/pets');
  const line = /The server has not responded 4 times in a row: it is killed\.\n/;
  await recovers(t, 'server', line, (pid) => process.kill(pid, 'SIGURG'));
  const log = await readFile(join(folder, 'logs/server.log'), 'utf8');
  const found = log.split('\n').filter((one) => one.includes('the event loop stands still'));
  const { lastCalls } = JSON.parse(found.at(-1) ?? '{}');
  t.regex(JSON.stringify(lastCalls), /"method":"\/petstore\.v1\.PetService\/ListPets"/, log);
});

test.serial('A thread of Envoy that hangs - ends Envoy within half a minute, and it is restarted', async (t) => {
  const line = /Envoy ended unexpectedly \(signal SIGABRT\): see .*envoy\.log\. Starting it again/;
  await recovers(t, 'envoy', line, () => t.throwsAsync(fetch(shared.url, { headers: { 'x-hang': 'yes' } })));
});

test.serial('Failed starts of Envoy - end the service with one line, exit code 1 and nothing left', async (t) => {
  const { launcher, folder } = shared;
  const { server, envoy } = await launcher.pair();
  await writeFile(join(dirname(folder), 'hanging-envoy'), '#!/bin/sh\nexit 3\n');
  process.kill(envoy.pid, 'SIGKILL');
  t.deepEqual(await launcher.ended, { code: 1, signal: null });
  const line = 'Envoy could not be started 5 times in a row, the last time: Envoy ended unexpectedly \\(exit code 3\\)';
  t.regex(launcher.errors, new RegExp(`^petstore: ${line}: see .*envoy\\.log\\n$`));
  t.false(isRunning(server));
});
