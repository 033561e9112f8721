/** A component that dies or freezes is restarted, and the others keep running. */
import { isRunning, type Launcher } from '../support/launcher.ts';
import { RestClient } from '../support/rest-client.ts';
import { until } from '../support/until.ts';
import { launch, type Test, test } from './launch.ts';

type Victim = 'server' | 'envoy';

async function opened(t: Test) {
  const launcher = launch(t);
  const { url, key } = await launcher.opened();
  return { launcher, rest: new RestClient(url, key) };
}

/** Resolves when calls succeed again. */
async function untilAnswered(rest: RestClient): Promise<void> {
  const isAnswered = () =>
    rest.get('/pets').then(
      ({ status }) => status === 200,
      () => false, // the port is not open yet
    );
  await until(isAnswered, 'a response');
}

/** Less than 5 s on an idle machine. A busy one may be five times slower. */
const RETURN_MS = 25_000;

const COMPONENTS = [
  ['server', 'envoy', 'The server', 'server.log', 4],
  ['envoy', 'server', 'Envoy', 'envoy.log', 6],
] as const;

for (const [victim, survivor, name, log, pings] of COMPONENTS) {
  test.serial(`Death of ${name} - it is restarted, and the other one keeps running`, async (t) => {
    const { launcher, rest } = await opened(t);
    const before = await launcher.pair();
    const startMs = performance.now();
    process.kill(before[victim].pid, 'SIGKILL');
    await launcher.says(
      new RegExp(`\\n${name} ended unexpectedly \\(signal SIGKILL\\): see .*${log}\\. Starting it again`),
    );
    await launcher.says(new RegExp(`\\n${name} serves again\\.\\n`));
    await untilAnswered(rest);
    const tookMs = performance.now() - startMs;
    t.true(tookMs < RETURN_MS, `${tookMs} ms`);
    const after = await launcher.pair();
    t.not(after[victim].pid, before[victim].pid);
    t.is(after[survivor].pid, before[survivor].pid);
    t.is(launcher.errors, '');
  });

  test.serial(`A frozen component - ${name} is killed after several unanswered pings, and restarted`, async (t) => {
    const { launcher, rest } = await opened(t);
    const before = await launcher.pair();
    process.kill(before[victim].pid, 'SIGSTOP');
    await launcher.says(new RegExp(`\\n${name} has not answered ${pings} times in a row: it is killed\\.\\n`));
    await launcher.says(new RegExp(`\\n${name} serves again\\.\\n`));
    await untilAnswered(rest);
    const after = await launcher.pair();
    t.false(isRunning(before[victim]));
    t.is(after[survivor].pid, before[survivor].pid);
  });

  test.serial(`Repeated deaths of ${name} - end the service with one line, exit code 1 and nothing left`, async (t) => {
    const { launcher } = await opened(t);
    const before = await launcher.pair();
    await killRepeatedly(launcher, victim);
    t.deepEqual(await launcher.ended, { code: 1, signal: null });
    const line = `${name.replace('The', 'the')} failed 5 times in a row, the last time: ${name} ended unexpectedly`;
    t.regex(launcher.errors, new RegExp(`^petstore: ${line} \\(signal SIGKILL\\): see .*${log}\\n$`, 'i'));
    t.false(isRunning(before[survivor]));
  });

  for (const signal of ['SIGTERM', 'SIGUSR2'] as const) {
    test.serial(`${signal} - during a restart of ${name} is obeyed`, async (t) => {
      const { launcher } = await opened(t);
      process.kill((await launcher.pair())[victim].pid, 'SIGKILL');
      await launcher.says(/Starting it again/);
      if (signal === 'SIGUSR2') {
        launcher.process.kill(signal);
        await launcher.says(/A rolling restart needs INSTANCES of 2 or more/);
        await launcher.says(new RegExp(`\\n${name} serves again\\.\\n`));
      }
      const children = await launcher.children();
      t.deepEqual(await launcher.end('SIGTERM'), { code: 0, signal: null });
      t.regex(launcher.output, /\nStopped\.\n$/);
      t.is(launcher.errors, '');
      t.false(children.some(isRunning));
    });
  }
}

/** Kills a component as soon as it runs, until the launcher has ended. */
async function killRepeatedly(launcher: Launcher, victim: Victim): Promise<void> {
  const killed = new Set<number>();
  await until(
    async () => {
      if (launcher.hasEnded) return true;
      const pid = (await launcher.pair().catch(() => undefined))?.[victim].pid;
      if (pid === undefined || killed.has(pid)) return false;
      killed.add(pid);
      process.kill(pid, 'SIGKILL');
      return false;
    },
    'the end',
    60_000,
  );
}

test.serial('A frozen launcher - restarts nothing when it resumes', async (t) => {
  const { launcher, rest } = await opened(t);
  const before = await launcher.pair();
  launcher.process.kill('SIGSTOP');
  const frozenAtMs = performance.now();
  await until(() => performance.now() - frozenAtMs > 8_000, 'enough time for several pings');
  launcher.process.kill('SIGCONT');
  launcher.process.kill('SIGUSR2'); // it prints a line when it is awake
  await launcher.says(/A rolling restart needs/);
  await untilAnswered(rest);
  t.deepEqual(await launcher.pair(), before);
});
