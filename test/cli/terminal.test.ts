/** The command on a real terminal, with redirected output, and with closed pipes. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import anyTest, { type TestFn } from 'ava';
import { findProgram } from '../support/find-program.ts';
import { startTestStack, type TestStack } from '../support/stack.ts';
import { json, type Petstore, petstore, ROOT, run } from './command.ts';

const test = anyTest as TestFn<TestStack & { command: Petstore; settings: Readonly<Record<string, string>> }>;
const NAME = 'A company with quite a long name of its own';

test.before(async (t) => {
  const stack = await startTestStack();
  const command = petstore(stack);
  await json(
    command,
    'account',
    'create',
    '--name',
    NAME,
    '--plan',
    'enterprise',
    '--per-minute',
    '7',
    '--per-day',
    '9',
  );
  const settings = { GRPC_PORT: String(stack.config.grpcPort), DATA_DIR: stack.config.dataDir };
  t.context = { ...stack, command, settings };
});
test.after.always((t) => t.context.close());

/** Python that runs a command line on a terminal of a given width, and prints its output. */
const ON_TERMINAL = `
import fcntl, os, pty, struct, sys, termios
width, line = int(sys.argv[1]), sys.argv[2:]
pid, terminal = pty.fork()
if pid == 0:
    fcntl.ioctl(0, termios.TIOCSWINSZ, struct.pack('HHHH', 24, width, 0, 0))
    os.execvp(line[0], line)
shown = b''
while True:
    try:
        read = os.read(terminal, 65536)
    except OSError:
        break
    if not read:
        break
    shown += read
sys.stdout.buffer.write(shown)
sys.exit(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))
`;

async function onTerminal(width: number, args: readonly string[], env: Readonly<Record<string, string>>) {
  const python = findProgram(['python3']);
  if (python === undefined) throw new Error('python3 is missing; installing the service needs it too');
  const line = [process.execPath, `${ROOT}src/cli/main.ts`, ...args];
  const outcome = await run(python, ['-c', ON_TERMINAL, String(width), ...line], { TERM: 'xterm', ...env });
  return { ...outcome, lines: outcome.stdout.replaceAll('\r', '').trimEnd().split('\n') };
}

// biome-ignore lint/suspicious/noControlCharactersInRegex: the tests look for them
const COLOUR = /\u001b\[\d+m/g;

test('terminal - column titles are bold, and plain with NO_COLOR', async (t) => {
  const { settings } = t.context;
  const bold = await onTerminal(100, ['account', 'list'], settings);
  t.is(bold.exitCode, 0);
  t.regex(bold.lines[0] ?? '', COLOUR);
  const plain = await onTerminal(100, ['account', 'list'], { ...settings, NO_COLOR: '1' });
  t.notRegex(plain.stdout, COLOUR);
  t.is(plain.lines[0], bold.lines[0]?.replaceAll(COLOUR, ''));
});

test('terminal - a name is cut so that the table fits the width', async (t) => {
  const { settings } = t.context;
  for (const width of [120, 90, 80]) {
    const { lines } = await onTerminal(width, ['account', 'list'], { ...settings, NO_COLOR: '1' });
    t.is(lines.length, 3);
    t.true(
      lines.every((line) => line.length <= width),
      lines.join('\n'),
    );
    t.is(lines[2]?.includes(NAME), width > 100);
    t.is(lines[2]?.includes('…'), width <= 100);
  }
});

test('no terminal - a table is neither cut nor coloured', async (t) => {
  const { stdout } = await t.context.command(['account', 'list']);
  t.true(stdout.includes(NAME));
  t.notRegex(stdout, COLOUR);
});

test('broken pipe - a closed stdout is not an error', async (t) => {
  const { settings } = t.context;
  const env = { PATH: process.env.PATH ?? '', ...settings };
  const child = spawn(process.execPath, [`${ROOT}src/cli/main.ts`, 'account', 'list'], { env });
  child.stdout.destroy();
  let errors = '';
  child.stderr.on('data', (chunk: Buffer) => {
    errors += chunk.toString();
  });
  const [code] = await once(child, 'close');
  t.deepEqual([code, errors], [0, '']);
});

test('broken pipe - a closed stderr leaves the exit code unchanged', async (t) => {
  const env = { PATH: process.env.PATH ?? '', ...t.context.settings };
  const child = spawn(process.execPath, [`${ROOT}src/cli/main.ts`, 'account', 'show', '999'], { env });
  child.stderr.destroy();
  const [code] = await once(child, 'close');
  t.is(code, 1);
});
