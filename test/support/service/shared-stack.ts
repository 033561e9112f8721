/** AVA's `test` for a file whose tests share one service. */
import anyTest, { type TestFn } from 'ava';
import { startTestServer, type TestServer } from './server.ts';
import { startTestStack, type TestStack } from './stack.ts';

function sharing<Shared extends { close(): Promise<void> }>(start: () => Promise<Shared>): TestFn<Shared> {
  const test = anyTest as TestFn<Shared>;
  test.serial.before(async (t) => {
    t.context = await start();
  });
  test.after.always((t) => t.context.close());
  return test;
}

/** The whole service, with the settings and options of `startTestStack`. */
export function stackTest(...options: Parameters<typeof startTestStack>): TestFn<TestStack> {
  return sharing(() => startTestStack(...options));
}

/** A server in the test's process. */
export function serverTest(settings?: Readonly<Record<string, string>>): TestFn<TestServer> {
  return sharing(() => startTestServer(settings));
}
