/** Runs Lua scripts with LuaJIT, as Envoy does. */
import { spawnSync } from 'node:child_process';
import type { TestFn } from 'ava';
import { findProgram, missing } from '../support/machine/find-program.ts';
import { testUnless } from '../support/machine/programs.ts';

const luajit = findProgram(['luajit']);

/** ava's `test` for a file that needs LuaJIT. */
export function luaTest<Context>(): TestFn<Context> {
  return testUnless(missing('luajit'));
}

/** Runs a script in the repository's folder. Without LuaJIT the output is empty. */
export function runLua(args: readonly string[], input = ''): { output: string; errors: string } {
  if (luajit === undefined) return { output: '', errors: 'there is no LuaJIT' };
  const { stdout, stderr, error } = spawnSync(luajit, args, { input, encoding: 'utf8', maxBuffer: 2 ** 26 });
  if (error) throw error;
  return { output: stdout, errors: stderr };
}
