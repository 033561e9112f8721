/** AVA's `test` for a file whose tests share one service. */
import type { TestFn } from 'ava';
import type { Settings } from './process.ts';
import { startTestServer, type TestServer } from './server.ts';
import { sharing } from './sharing.ts';
import { type StackOptions, startTestStack, type TestStack } from './stack.ts';

/** The whole service, with the settings and options of `startTestStack`. */
export const stackTest = (settings?: Settings, options?: StackOptions): TestFn<TestStack> =>
  sharing(undefined, (t) => startTestStack(t, settings, options));

/** A server in the test's process. */
export const serverTest = (settings?: Settings): TestFn<TestServer> =>
  sharing(undefined, (t) => startTestServer(t, settings));
