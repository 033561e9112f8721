/**
 * Kills `deploy/restore.ts` before each of its system calls that change a file: what a start finds is never empty. The
 * calls of `deploy/backup.ts` make a backup durable.
 */
import { cpSync, readFileSync, rmSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { missing } from '../support/machine/find-program.ts';
import { temporaryFolder } from '../support/machine/folder.ts';
import { testUnless } from '../support/machine/programs.ts';
import { Program } from '../support/service/process.ts';
import { backup, categoriesIn, makeCrashedStore, makeStore, run, startOn } from './backups.ts';

const test = testUnless<unknown>(missing('strace'));

const DEPLOY = new URL('../../deploy', import.meta.url).pathname;
/** The system calls that can change a file or a folder. */
const CHANGES =
  'open,openat,creat,mkdir,mkdirat,rmdir,link,linkat,symlink,unlink,unlinkat,rename,renameat,renameat2,' +
  'write,pwrite64,writev,pwritev,copy_file_range,sendfile,truncate,ftruncate,fallocate,fsync,fdatasync,chmod,fchmod';

/** A compile cache that only the first run writes, since calls are counted in later ones. */
const compiled = (folder: string) => ({ NODE_COMPILE_CACHE: join(folder, 'compiled') });

/** Runs a restore, or `program`, under strace. Resolves with what ended it. */
async function trace(
  args: readonly string[],
  dataDir: string,
  file: string,
  program = ['restore.ts'],
): Promise<string> {
  const env = { ...process.env, ...compiled(dirname(dataDir)), DATA_DIR: dataDir };
  const [name = '', ...options] = program;
  const command = ['-f', '-y', ...args, process.execPath, join(DEPLOY, name), ...options, file];
  const { code, signal } = await new Program('strace', command, { env }).ended;
  return signal ?? (code === 0 ? 'done' : String(code));
}

interface Change {
  readonly call: string;
  /** How many calls of this name the thread has made. */
  readonly nth: number;
}

/** The calls that change something in the folder. Of the same ones in a row, only the first and the last. */
function changesIn(log: string, folder: string): readonly Change[] {
  const counts = new Map<string, number>();
  const changes = log.split('\n').flatMap((line) => {
    const [, thread = '', call = ''] = /^(\d+) +(\w+)\(/.exec(line) ?? [];
    const nth = (counts.get(thread + call) ?? 0) + 1;
    counts.set(thread + call, nth);
    const isReading = call.startsWith('open') && !/O_CREAT|O_TRUNC/.test(line);
    return call !== '' && line.includes(folder) && !isReading ? [{ call, nth }] : [];
  });
  const isSame = (index: number, { call }: Change) => changes[index]?.call === call;
  return changes.filter((change, index) => !isSame(index - 1, change) || !isSame(index + 1, change));
}

test('Backup - each file is durable before it gets its name, and the name before the backup is done', async (t) => {
  const folder = temporaryFolder(t);
  const [data, backups, log] = [join(folder, 'data'), join(folder, 'backups'), join(folder, 'log')];
  await makeStore(data, 'new');
  const calls = ['--output', log, '--trace=fsync,rename,renameat,renameat2'];
  t.is(await trace(calls, data, backups, ['backup.ts', '--to']), 'done');
  const lines = readFileSync(log, 'utf8').split('\n');
  const named = lines.filter((line) => /rename\w*\(.*\.part"/.test(line));
  t.is(named.length, 2, 'the store and the key');
  for (const line of named) {
    const at = lines.indexOf(line);
    const [, part = ''] = /"([^"]*\.part)"/.exec(line) ?? [];
    t.true(lines[at - 1]?.includes(`fsync(`) && lines[at - 1]?.includes(`<${part}>`), lines[at - 1]);
    t.true(lines[at + 1]?.includes(`fsync(`) && lines[at + 1]?.includes(`<${backups}>`), lines[at + 1]);
  }
});

test('Killed at any moment - a start finds the old store or the new one, and the old one is kept', async (t) => {
  t.timeout(5 * 60_000); // dozens of restores
  const folder = temporaryFolder(t);
  const [before, whole, killed] = [join(folder, 'before'), join(folder, 'whole'), join(folder, 'killed')];
  await makeStore(join(folder, 'source'), 'new');
  const file = await backup(join(folder, 'backups'), { DATA_DIR: join(folder, 'source') });
  await run('restore', [file], { DATA_DIR: join(folder, 'first'), ...compiled(folder) });
  await makeCrashedStore(before, 'old');
  cpSync(before, whole, { recursive: true });
  t.is(await trace(['-o', join(folder, 'log'), `--trace=${CHANGES}`], whole, file), 'done');
  const changes = changesIn(readFileSync(join(folder, 'log'), 'utf8'), whole);
  t.true(changes.length > 20, String(changes.length));
  const found = new Set<string>();
  for (const { call, nth } of changes) {
    cpSync(before, killed, { recursive: true });
    const inject = [`--trace=${call}`, `--inject=${call}:signal=SIGKILL:when=${nth}`, '-o', '/dev/null'];
    t.is(await trace(inject, killed, file), 'SIGKILL', `${call} ${nth}`);
    await startOn(killed);
    found.add(categoriesIn(killed).join());
    t.is(readFileSync(join(killed, 'operator.key'), 'utf8'), 'key of old\n', `${call} ${nth}`);
    rmSync(killed, { recursive: true });
  }
  t.deepEqual([...found].sort(), ['new', 'old']);
});
