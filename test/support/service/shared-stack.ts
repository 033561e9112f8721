/** AVA's `test` for a file whose tests share one service. */
import type { TestFn } from 'ava';
import { startTestServer, type TestServer } from './server.ts';
import { sharing } from './sharing.ts';
import { startTestStack, type TestStack } from './stack.ts';

/** The whole service, with the settings and options of `startTestStack`. */
export function stackTest(...options: Parameters<typeof startTestStack>): TestFn<TestStack> {
  return sharing(undefined, async ({ teardown }) => {
    const stack = await startTestStack(...options);
    teardown(stack.close);
    return stack;
  });
}

/** A server in the test's process. */
export function serverTest(settings?: Readonly<Record<string, string>>): TestFn<TestServer> {
  return sharing(undefined, async ({ teardown }) => {
    const server = await startTestServer(settings);
    teardown(server.close);
    return server;
  });
}
