import { resolve } from 'node:path';

// Servers, commands and AVA's own threads start in half the CPU time with it. Coverage is less precise with it.
const compileCache = { NODE_COMPILE_CACHE: resolve('node_modules/.cache/petstore') };

export default {
  extensions: ['ts'],
  files: ['test/**/*.test.ts'],
  timeout: '2m',
  // Many tests wait, for processes or for time. So two cores have enough to do, and are not overloaded.
  concurrency: 4,
  environmentVariables: process.env.NODE_V8_COVERAGE === undefined ? compileCache : {},
};
