/** The first programs of the page "gRPC", taken from the page as `/docs` shows it, and made by its commands. */
import { mkdir, rm, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import type { ExecutionContext } from 'ava';
import { description } from '../../docs/docs-page.ts';
import { findProgram, sh } from '../machine/find-program.ts';
import { openProxy } from '../machine/tcp-proxy.ts';
import { temporaryFolder } from '../scope.ts';
import { until } from '../until.ts';
import { missesNothing, runGroup } from './following-programs.ts';
import { testUnless } from './sharing.ts';
import type { TestStack } from './stack.ts';

export const grpcPage = description.tags.find(({ name }) => name === 'gRPC')?.description ?? '';

/** A line that names the language and the files, each file, and the commands: the last one runs the program. */
const PROGRAM = /^(\w+)([^\n]*):\n\n((?:<details>\n.+?<\/details>\n\n)+)```bash\n(.+?)^```/gms;

/** What a program prints before it follows. */
const ORDERED = /^order \d+: 2 of Tom\norders of Tom: 1\n/m;

const PROGRAMS = new Map(
  [...grpcPage.matchAll(PROGRAM)].map(([, language = '', line = '', shown = '', commands = '']) => {
    const names = [...line.matchAll(/`([\w/]+\.\w+)`/g)].map(([, name = '']) => name);
    const texts = [...shown.matchAll(/^```\w+\n(.+?)^```/gms)].map(([, text = '']) => text);
    const [, preparation = '', command = ''] = /^(.*\n)(.+\n)$/s.exec(commands) ?? [];
    const files = new Map(names.map((name, i) => [name, texts[i] ?? '']));
    return [language, { files, preparation, command }] as const;
  }),
);

/** Tests the programs in these languages, each of which needs programs to be made. */
export function testFirstPrograms(languages: Readonly<Record<string, readonly string[]>>): void {
  for (const [language, needed] of Object.entries(languages)) {
    const missing = needed.find((name) => findProgram([name]) === undefined);
    testUnless<TestStack>(missing && `NO ${missing} FOUND for the first program in ${language}`).serial(
      `gRPC - the first program in ${language} orders once, and deals with each event once, whatever ends`,
      (t) => ordersAndFollows(t, t.context, language),
    );
  }
}

/**
 * Makes and runs a program. It must place one order though the connection breaks while the order is answered, and then
 * deal with each event once, whatever ends (`missesNothing`).
 */
async function ordersAndFollows(t: ExecutionContext, stack: TestStack, language: string): Promise<void> {
  t.timeout(1_200_000, 'packages are fetched and compiled, and the service restarts several times');
  const program = PROGRAMS.get(language);
  if (program === undefined) throw new Error(`the page has no program in ${language}`);
  const cwd = temporaryFolder(t);
  for (const [name, text] of program.files) {
    await mkdir(dirname(join(cwd, name)), { recursive: true });
    await writeFile(join(cwd, name), text);
  }
  const own = join(cwd, 'packages');
  const env = {
    ...process.env,
    API: stack.rest.url,
    API_KEY: stack.key,
    // Python's packages are installed in the folder, and Go's programs. Node is the one of these tests.
    PIP_TARGET: own,
    PYTHONPATH: own,
    PIP_ROOT_USER_ACTION: 'ignore',
    GOBIN: own,
    PATH: `${own}:${dirname(process.execPath)}:${process.env.PATH}`,
  };
  // As the page has it, pyenv writes its own folder anew afterwards, which fails when two do so at once.
  const preparation = program.preparation.replace('python3 -m pip ', 'python3 -mpip --quiet ');
  await sh('bash', ['-euo', 'pipefail', '-c', preparation], { cwd, env });
  await ordersOnce(t, stack, { commands: program.command, cwd, env });
  await missesNothing(t, stack, { commands: program.command, cwd, env, writes: ORDERED });
}

/** Runs commands that order, and says so. The response to the order is lost. */
export async function ordersOnce(
  t: ExecutionContext<unknown>,
  { rest, config }: TestStack,
  { commands, cwd, env }: { commands: string; cwd: string; env: NodeJS.ProcessEnv },
  says = ORDERED,
): Promise<void> {
  const orders = async () => (await rest.get('/store/orders?limit=100')).body.length;
  const before = await orders();
  const proxy = await openProxy(t, config.port);
  proxy.slow(1_000);
  const ordering = runGroup(t, commands, { cwd, env: { ...env, API: `http://127.0.0.1:${proxy.port}` } });
  const hasOrdered = async () => {
    if (ordering.hasEnded) throw new Error(ordering.errors);
    return (await orders()) > before;
  };
  await until(hasOrdered, 'the order, whose response takes a second more', 120_000);
  proxy.cut();
  proxy.restore();
  await ordering.says(says, 60_000);
  t.is(await orders(), before + 1);
  await ordering.kill();
  await rm(join(cwd, 'cursor'), { force: true });
}
