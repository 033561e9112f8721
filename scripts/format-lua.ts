/** Formats the Lua files with StyLua. With `--check` it lists unformatted files, and fails. */
import { globSync, readFileSync, writeFileSync } from 'node:fs';
import {
  CollapseSimpleStatement,
  Config,
  formatCode,
  IndentType,
  LuaVersion,
  OutputVerification,
} from '@johnnymorganz/stylua';

const FILES = '{bench,envoy,src}/**/*.lua';
const isCheck = process.argv.includes('--check');

function format(code: string): string {
  const config = Config.new(); // formatCode frees it
  config.column_width = 120;
  config.indent_type = IndentType.Spaces;
  config.indent_width = 2;
  config.collapse_simple_statement = CollapseSimpleStatement.ConditionalOnly;
  config.syntax = LuaVersion.LuaJIT;
  return formatCode(code, config, undefined, isCheck ? OutputVerification.None : OutputVerification.Full);
}

for (const file of globSync(FILES)) {
  const code = readFileSync(file, 'utf8');
  const formatted = format(code);
  if (formatted === code) continue;
  if (isCheck) {
    process.stderr.write(`${file} is not formatted: run "npm run format"\n`);
    process.exitCode = 1;
  } else {
    writeFileSync(file, formatted);
  }
}
