/** Runs the sessions in README.md and docs/accounts.md, command by command, and compares what they print. */
import { readFileSync } from 'node:fs';
import type { ExecutionContext } from 'ava';
import { ROOT } from '../../src/platform/launcher/paths.ts';
import { buildPrograms, GRPCURL, noGo } from '../conformance/programs.ts';
import { mayBeSkipped, sh } from '../support/machine/find-program.ts';
import { freePorts, temporaryFolder } from '../support/scope.ts';
import { Launcher } from '../support/service/process.ts';
import { fresh, type SharedBy } from '../support/service/sharing.ts';

const test = fresh(undefined, async (t) => {
  const dataDir = temporaryFolder(t);
  const [port, grpcPort, adminPort] = (await freePorts(3)).map(String);
  const ports = { PORT: `${port}`, GRPC_PORT: `${grpcPort}`, ENVOY_ADMIN_PORT: `${adminPort}` };
  const launcher = new Launcher({ ...ports, DATA_DIR: dataDir });
  t.teardown(() => launcher.end('SIGTERM'));
  return { launcher, dataDir, ...(await launcher.opened()) };
});
type Test = ExecutionContext<SharedBy<typeof test>>;

interface Step {
  readonly command: string;
  readonly output?: string;
}

/** The sessions of a page, one per block: each command with what it prints. */
function sessionsOf(page: string): Step[][] {
  const blocks = readFileSync(`${ROOT}/${page}`, 'utf8').matchAll(/^```\n(\$ .+?)^```/gms);
  return [...blocks].map(([, block = '']) =>
    block.split(/^\$ /m).flatMap((step) => {
      const [, command, output = ''] = /^((?:.*\\\n)*.*\n)([\s\S]*)$/.exec(step) ?? [];
      return command === undefined ? [] : { command, output };
    }),
  );
}

const SEPARATOR = '\u001e';
/** On a terminal curl shows no progress. */
const SILENT_CURL = 'curl() { command curl --silent "$@"; }\n';
/** Before a step that uses up a limit: the rest of the minute is enough for what shows it. */
const NEXT_MINUTE = 'until [ $(date +%-S) -lt 10 ]; do sleep 0.2; done\n';

async function follow(t: Test, steps: readonly Step[]): Promise<void> {
  const { url, dataDir, launcher } = t.context;
  const cli = `${process.execPath} ${ROOT}/src/platform/cli/main.ts`;
  const script = steps
    .map(({ command }) => command)
    .join(`printf '${SEPARATOR}'\n`)
    .replaceAll('http://127.0.0.1:8080', url)
    .replaceAll('127.0.0.1:8080', new URL(url).host)
    .replaceAll(/(?<=[ (])data\//g, `${dataDir}/`)
    .replaceAll('npm run -s petstore -- events', `timeout 20 ${cli} events`)
    .replaceAll('npm run -s petstore --', cli);
  const env = { ...process.env, ...launcher.settings };
  const shell = sh('bash', ['-c', `exec 2>&1\n${SILENT_CURL}${script}`], { env });
  const { stdout } = await shell.catch((error: { stdout: string }) => error); // when the last command is refused
  const printed = stdout.split(SEPARATOR);
  for (const [index, { command, output }] of steps.entries()) {
    if (output !== undefined) t.is(withoutChance(printed[index] ?? ''), withoutChance(output), command);
  }
}

/** Replaces times, generated ids and keys, and what depends on the second of the minute. */
function withoutChance(output: string): string {
  return output
    .replaceAll('\r', '')
    .replaceAll(/\b[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}\b/g, '<id>')
    .replaceAll(/^date: .*$/gm, 'date: <time>')
    .replaceAll(/\b\d{4}-\d\d-\d\d(?:[T ]\d\d:\d\d(?::\d\d)?(?:\.\d+)?Z)?/g, '<time>')
    .replaceAll(/\b\d\d:\d\d:\d\dZ/g, '<time>')
    .replaceAll(/pst_\w+(… {2}\(shortened here\))?/g, '<key>')
    .replaceAll(/(?<=x-ratelimit-reset: |;t=|try again in |curl\/)[\d.]+/g, '<number>')
    .trimEnd();
}

test.serial('README - the first session gives the output that it shows', async (t) => {
  t.timeout(600_000, 'grpcurl is compiled');
  const hasGrpcurl = noGo === undefined;
  if (hasGrpcurl) process.env.PATH = `${await buildPrograms(GRPCURL)}:${process.env.PATH}`;
  else t.true(mayBeSkipped(), `${noGo}, nor the session with grpcurl`);
  const sessions = sessionsOf('README.md');
  const steps = sessions.filter(([first]) => hasGrpcurl || !first?.command.startsWith('grpcurl')).flat();
  t.true(steps.length > 10);
  await follow(t, steps);
});

const PETSTORE = 'npm run -s petstore --';
const call = (options: string) => `curl -s http://127.0.0.1:8080/pets -H "Authorization: Bearer $API_KEY" ${options}`;
/** By one curl: so many processes may take more than a minute on a busy machine. */
const calls = (count: number, when = NEXT_MINUTE) => {
  const others = `$(printf -- '-o /dev/null http://127.0.0.1:8080/pets %.0s' $(seq ${count - 1}))`;
  return `${when}${call(`-o /dev/null ${others}`)}\n`;
};
const keyIn = (command: string) => `API_KEY=$(${command} | grep -o 'pst_[0-9A-Za-z]\\{38\\}')\n`;

test.serial('docs/accounts.md - the commands give the output that the page shows', async (t) => {
  const [create = [], change = [], rotate = []] = sessionsOf('docs/accounts.md');
  const shown = create.map((step) => {
    if (step.command.startsWith('API_KEY=')) return { command: keyIn('cat "$DATA_DIR/shown"') + calls(61) };
    return { ...step, command: step.command.replace('\n', ' | tee "$DATA_DIR/shown"\n') };
  });
  await follow(t, [...shown, ...change, ...rotate]);
});

test.serial('docs/accounts.md - a banned caller and mistakes look as the page shows them', async (t) => {
  const [, , , [, find] = [], show = [], bans = [], unban = [], mistakes = []] = sessionsOf('docs/accounts.md');
  if (find === undefined) throw new Error('the page has no session about the access log');
  const banned = `${PETSTORE} account create --name "Acme Ltd" --plan free
    ${keyIn(`${PETSTORE} key create --account 2 --label laptop --json`)}
    ${calls(62)}${calls(24, 'sleep 2.1\n')}
    ID=$(${call('-i')} | grep -oi '^x-request-id: [^[:cntrl:]]*' | cut -c15-)
    until grep -q $ID data/logs/access.log; do sleep 0.2; done\n`;
  const ban = { command: `${PETSTORE} account set 2 --plan pro\n` };
  await follow(t, [{ command: banned }, find, ...show, ...bans, ...unban, ban, ...mistakes]);
});
