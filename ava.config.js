import { resolve } from 'node:path';

// Servers, commands and AVA's own threads start in half the CPU time with it. Coverage by lines is the same with it
// (two of 13,032), that by branches a little less precise.
const environmentVariables = { NODE_COMPILE_CACHE: resolve('node_modules/.cache/petstore') };

// Files that may take a minute, most of it waiting, begin first: so the run does not end with one of them alone.
const LONG =
  /\/test\/(access\/limits\/redis|chaos|conformance|deploy|docs|envoy\/kinds|examples|hosts|launcher|upgrades)/;

export default {
  extensions: ['ts'],
  files: ['test/**/*.test.ts'],
  timeout: '2m',
  // Many tests wait, for processes or for time. So two cores have enough to do, and are not overloaded.
  concurrency: 6,
  sortTestFiles: (one, other) => Number(LONG.test(other)) - Number(LONG.test(one)) || (one < other ? -1 : 1),
  environmentVariables,
};
