/**
 * `npm run test:mutants`: makes small faults, one at a time, and tells which of them no test notices. Known tools run
 * the code within the process of its tests, and neither Lua nor what runs in another process.
 */
import { spawn, spawnSync } from 'node:child_process';
import {
  existsSync,
  globSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import fc from 'fast-check';
import ts from 'typescript';
import { createCommand, integer, run } from '../command-line.ts';
import { copyTree } from '../copy-tree.ts';
import { type Fault, faultsOf } from './faults.ts';
import { testsOf } from './parts.ts';

const MAX_MS = 480_000;
/** Of the compiler: what is declared and not used. It is no reason not to try a fault. */
const UNUSED = new Set([6133, 6138, 6192, 6196, 6198, 6199]);

const command = createCommand(
  'test:mutants',
  `Changes or removes one token or statement of src/ or envoy/, in a copy, and runs the tests of its part; then the next
one. What no test notices is printed with its place and its difference. The exit code says nothing of them: some
change nothing that anyone could notice.`,
)
  .requiredOption('--seed <n>', 'which faults', integer(0, 2 ** 32 - 1))
  .requiredOption('--count <n>', 'how many', integer(1, 100_000))
  .option('--only <prefix>', 'only in files whose path begins so', '');

interface Options {
  readonly seed: number;
  readonly count: number;
  readonly only: string;
}

await run(command, async ({ seed, count, only }: Options, signal) => {
  const copy = mkdtempSync(join(tmpdir(), 'mutants-'));
  try {
    copyTree(copy);
    await tryFaults(copy, { seed, count, only }, signal);
  } finally {
    for (const pid of processesOf(copy)) process.kill(pid, 'SIGKILL');
    rmSync(copy, { recursive: true, force: true });
  }
});

async function tryFaults(copy: string, { seed, count, only }: Options, signal: AbortSignal): Promise<void> {
  const sources = globSync(['src/**/*.ts', 'envoy/{*.lua,config/*.ts}']).filter((file) => file.startsWith(only));
  const all = sources.toSorted().flatMap((file) => {
    const text = readFileSync(file, 'utf8');
    return faultsOf(file, text).map((fault) => ({ file, text, fault }));
  });
  const compiles = compiler(copy);
  const [shuffled = []] = fc.sample(fc.shuffledSubarray(all, { minLength: all.length }), { seed, numRuns: 1 });
  let [noticed, survived, unclear] = [0, 0, 0];
  try {
    for (const { file, text, fault } of shuffled) {
      if (noticed + survived + unclear === count) break;
      const changed = text.slice(0, fault.start) + fault.by + text.slice(fault.end);
      if (!compiles(file, changed)) continue;
      const tests = testsOf(file);
      writeFileSync(join(copy, file), changed);
      const red = await failing(copy, tests, signal);
      writeFileSync(join(copy, file), text);
      const isSure = red !== undefined && (await failingOf(copy, [red.file], signal)) === undefined;
      signal.throwIfAborted();
      const { where, difference } = describe(file, text, fault);
      if (red === undefined) survived += 1;
      else if (isSure) noticed += 1;
      else unclear += 1;
      process.stdout.write(red === undefined ? `SURVIVED ${where}\n${difference}\n` : `${where}: ${red.title}\n`);
    }
  } finally {
    const tried = noticed + survived + unclear;
    process.stdout.write(`\nSeed ${seed}: of ${tried} faults ${noticed} were noticed and ${survived} not.\n`);
    if (unclear > 0) process.stdout.write(`Of ${unclear} the test fails without them too, or failed by chance.\n`);
  }
}

/** Where it is, and the difference. */
function describe(file: string, text: string, { start, end, by }: Fault) {
  const line = text.slice(0, start).split('\n').length;
  const [from, to] = [text.lastIndexOf('\n', start - 1) + 1, (text.indexOf('\n', end) + text.length) % text.length];
  const lines = (mark: string, its: string) =>
    its
      .split('\n')
      .map((one) => `${mark} ${one}`)
      .join('\n');
  const changed = text.slice(from, start) + by + text.slice(end, to);
  return { where: `${file}:${line}`, difference: `${lines('-', text.slice(from, to))}\n${lines('+', changed)}` };
}

/** Says of a changed file whether the compiler takes it. */
function compiler(copy: string): (file: string, text: string) => boolean {
  const { config } = ts.readConfigFile('tsconfig.json', ts.sys.readFile);
  const { options, fileNames } = ts.parseJsonConfigFileContent(config, ts.sys, process.cwd());
  const changed = new Map<string, { readonly version: number; readonly text: string }>();
  const service = ts.createLanguageService({
    ...{ fileExists: ts.sys.fileExists, readFile: ts.sys.readFile, readDirectory: ts.sys.readDirectory },
    getCompilationSettings: () => options,
    getScriptFileNames: () => fileNames,
    getScriptVersion: (name) => `${changed.get(name)?.version ?? 0}`,
    getScriptSnapshot: (name) => {
      const text = changed.get(name)?.text ?? ts.sys.readFile(name);
      return text === undefined ? undefined : ts.ScriptSnapshot.fromString(text);
    },
    getCurrentDirectory: () => process.cwd(),
    getDefaultLibFileName: ts.getDefaultLibFilePath,
  });
  let version = 0;
  return (file, text) => {
    if (file.endsWith('.lua')) {
      const tried = join(copy, 'tried.lua');
      writeFileSync(tried, text);
      return spawnSync('luajit', ['-bl', tried]).status === 0;
    }
    const name = resolve(file);
    version += 1;
    changed.set(name, { version, text });
    const found = [...service.getSyntacticDiagnostics(name), ...service.getSemanticDiagnostics(name)];
    changed.delete(name);
    return found.every(({ code }) => UNUSED.has(code));
  };
}

/**
 * Runs groups of tests until a test fails, and once more by itself; resolves with it, or undefined when all pass. A
 * file that fails only beside others, as on a busy machine, is left out of its group.
 */
async function failing(copy: string, groups: readonly (readonly string[])[], signal: AbortSignal) {
  for (const group of groups) {
    for (let tests = group; tests.length > 0; ) {
      const title = await failingOf(copy, tests, signal);
      if (title === undefined) break;
      const file = fileOf(title, tests);
      if ((await failingOf(copy, [file], signal)) !== undefined) return { title, file };
      tests = tests.filter((other) => other !== file);
    }
  }
  return undefined;
}

async function failingOf(copy: string, tests: readonly string[], signal: AbortSignal): Promise<string | undefined> {
  const ava = spawn('npx', ['--no-install', 'ava', '--fail-fast', '--tap', ...tests], {
    ...{ cwd: copy, stdio: ['ignore', 'pipe', 'ignore'], signal, timeout: MAX_MS },
    env: { ...process.env, MUTANTS: copy, SKIP_NOTHING: '' },
  });
  let output = '';
  ava.stdout?.on('data', (chunk: Buffer) => {
    output += chunk;
  });
  const code = await new Promise((resolve) => ava.once('error', resolve).once('close', resolve));
  for (const pid of processesOf(copy)) process.kill(pid, 'SIGKILL');
  if (code === 0) return undefined;
  return /^not ok \d+ - (.*)$/m.exec(output)?.[1] ?? `ended with ${code}`;
}

/** The file of a test that has failed. */
function fileOf(title: string, tests: readonly string[]): string {
  const prefix = (file: string) => file.slice('test/'.length, -'.test.ts'.length).replaceAll('/', ' › ');
  return tests.find((file) => title.includes(file) || title.startsWith(`${prefix(file)} › `)) ?? tests[0] ?? '';
}

/** What tests have left running, on Linux: it has the folder in its environment, or works there. */
function processesOf(copy: string): readonly number[] {
  if (!existsSync('/proc')) return [];
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .map(Number)
    .filter((pid) => {
      try {
        const environment = readFileSync(`/proc/${pid}/environ`, 'utf8');
        return environment.includes(`MUTANTS=${copy}`) || readlinkSync(`/proc/${pid}/cwd`).startsWith(copy);
      } catch {
        return false; // it has ended, or is another user's
      }
    });
}
