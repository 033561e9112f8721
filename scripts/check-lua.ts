/**
 * Runs luacheck on the Lua files, with the settings in config/luacheckrc. npm can't install luacheck. Without it this
 * prints a line and succeeds, or fails under SKIP_NOTHING=1.
 */
import { spawnSync } from 'node:child_process';
import { globSync } from 'node:fs';
import { findProgram, mayBeSkipped } from '../test/support/machine/find-program.ts';

const FILES = '{bench,envoy,src}/**/*.lua';
const MISSING = 'NO LUACHECK FOUND, so no Lua file is checked: install it (apt-get install lua-check)';

const luacheck = findProgram(['luacheck']);
if (luacheck === undefined) {
  process.stderr.write(`${MISSING}\n`);
  process.exitCode = mayBeSkipped() ? 0 : 1;
} else {
  const options = ['--config', 'config/luacheckrc', '--formatter', 'plain', '--codes'];
  const { status } = spawnSync(luacheck, [...options, ...globSync(FILES)], { stdio: 'inherit' });
  process.exitCode = status ?? 1;
}
