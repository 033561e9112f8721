import { readFile } from 'node:fs/promises';
import anyTest, { type TestFn } from 'ava';
import { ROOT, run } from '../cli/command.ts';
import { startTestStack, type TestStack } from '../support/stack.ts';

const test = anyTest as TestFn<TestStack>;

test.before(async (t) => {
  t.context = await startTestStack();
});
test.after.always((t) => t.context.close());

test('docs/client.md - every example runs, as it stands', async (t) => {
  const { publicAddress, key } = t.context;
  const page = await readFile(`${ROOT}docs/client.md`, 'utf8');
  const examples = [...page.matchAll(/^```ts\n(.+?)^```$/gms)].map(([, code = '']) => code);
  t.is(examples.length, 5);
  for (const example of examples) {
    const code = example.replaceAll('127.0.0.1:8080', publicAddress);
    const ran = await run(process.execPath, ['--input-type=module-typescript', '--eval', code], { API_KEY: key });
    t.deepEqual([ran.exitCode, ran.stderr], [0, ''], example);
  }
});
