/** Runs Lua scripts with LuaJIT, as Envoy does. */
import { spawnSync } from 'node:child_process';
import type { TestFn } from 'ava';
import { findProgram } from '../support/machine/find-program.ts';
import { testUnless } from '../support/machine/programs.ts';

const MISSING = 'NO LUAJIT FOUND, so nothing of this file is tested: install it (apt-get install luajit)';

const luajit = findProgram(['luajit']);

/** ava's `test` for a file that needs LuaJIT. */
export function luaTest<Context>(): TestFn<Context> {
  return testUnless(luajit === undefined ? MISSING : undefined);
}

/** Runs a script in the repository's folder. Without LuaJIT the output is empty. */
export function runLua(args: readonly string[], input = ''): { output: string; errors: string } {
  if (luajit === undefined) return { output: '', errors: MISSING };
  const { stdout, stderr, error } = spawnSync(luajit, args, { input, encoding: 'utf8', maxBuffer: 2 ** 26 });
  if (error) throw error;
  return { output: stdout, errors: stderr };
}
