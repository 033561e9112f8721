/** The first programs of the page "gRPC" whose packages are too many for every run: the others are in test/examples. */
import { findProgram } from '../support/machine/find-program.ts';
import { testUnless } from '../support/machine/programs.ts';
import { ordersAndFollows } from '../support/service/first-programs.ts';
import { stackTest } from '../support/service/shared-stack.ts';
import type { TestStack } from '../support/service/stack.ts';

stackTest();

for (const [language, ...programs] of [
  ['Java', 'mvn', 'javac'],
  ['TypeScript', 'npm', 'protoc'],
] as const) {
  const missing = programs.find((name) => findProgram([name]) === undefined);
  testUnless<TestStack>(missing && `NO ${missing} FOUND for the first program in ${language}`).serial(
    `gRPC - the first program in ${language} orders once, and deals with each event once, whatever ends`,
    (t) => ordersAndFollows(t, t.context, language),
  );
}
