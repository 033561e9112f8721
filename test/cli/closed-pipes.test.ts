/** The command whose output goes to closed pipes. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import anyTest, { type TestFn } from 'ava';
import { startTestStack, type TestStack } from '../support/stack.ts';
import { ROOT } from './command.ts';

const test = anyTest as TestFn<TestStack & { settings: Readonly<Record<string, string>> }>;

test.before(async (t) => {
  const stack = await startTestStack();
  const settings = { GRPC_PORT: String(stack.config.grpcPort), DATA_DIR: stack.config.dataDir };
  t.context = { ...stack, settings };
});
test.after.always((t) => t.context.close());

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
