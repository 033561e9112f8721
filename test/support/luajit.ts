/** LuaJIT, on which Envoy's Lua filters run, for the tests of them. */
import { spawnSync } from 'node:child_process';
import type { TestFn } from 'ava';
import { findProgram } from './find-program.ts';
import { testUnless } from './programs.ts';

const MISSING = 'NO LUAJIT FOUND, so nothing of this file is tested: install it (apt-get install luajit)';

const luajit = findProgram(['luajit']);

/** ava's `test` for a file that needs LuaJIT. */
export function luaTest<Context>(): TestFn<Context> {
  return testUnless(luajit === undefined ? MISSING : undefined);
}

/** What a script writes, in the repository's folder. Where there is no LuaJIT: nothing. */
export function runLua(args: readonly string[], input = ''): { output: string; errors: string } {
  if (luajit === undefined) return { output: '', errors: MISSING };
  const { stdout, stderr, error } = spawnSync(luajit, args, { input, encoding: 'utf8', maxBuffer: 2 ** 26 });
  if (error) throw error;
  return { output: stdout, errors: stderr };
}
