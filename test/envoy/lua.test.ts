/**
 * Runs the tests of the functions behind Envoy's Lua filters (envoy/test). The filters themselves run in Envoy in most
 * other tests: here in questions.test.ts.
 */
import { readdirSync } from 'node:fs';
import { luaSettings } from '../../envoy/config/lua.ts';
import { readConfig } from '../../src/platform/config/config.ts';
import { luaTest, runLua } from './luajit.ts';

const test = luaTest();

const FOLDER = 'envoy/test';
/** Defines the settings as Envoy's configuration does. */
const SETTINGS = ['-e', luaSettings({ ...readConfig({}), edgeSecret: 'the-secret-of-the-edge-in-tests' })];

const files = readdirSync(FOLDER).filter((name) => name.endsWith('_test.lua'));
const { output, errors } = runLua([...SETTINGS, `${FOLDER}/run.lua`, ...files.map((name) => `${FOLDER}/${name}`)]);
/** In TAP, as run.lua writes it: a line for each test, and what follows is a stack trace, or the plan at the end. */
const luaTests = output.split(/^(?=(?:not )?ok )/m);

test('Lua - every test of the filters runs to its end', (t) => {
  t.is(errors, '');
  t.true(luaTests.length > files.length);
  t.true(output.endsWith(`\n1..${luaTests.length}\n`));
});

for (const text of luaTests) {
  const [, title = text] = /^[^-]* - (.*)/.exec(text) ?? [];
  test(`Lua - ${title}`, (t) => t.true(text.startsWith('ok '), text));
}

/** Every key is as long as one may be; a renewal, a question and an address go with each. */
const REMEMBER = `
package.path = "envoy/?.lua"
local allowance, keys = require("allowance"), require("keys")
local most = 0
for i = 1, 25000 do
  local key, address = ("Bearer %092d"):format(i), ("%x:%x:%x:%x:0:0:0:1"):format(65536 - i, i, 65536 - i, i)
  keys.learn(key, true, 0)
  keys.is_known(key, 60000)
  keys.ask(key .. "?", 60000)
  for _, kind in ipairs({ "key ", "none ", "open ", "same key " }) do allowance.take(kind, address, 60000) end
  most = math.max(most, collectgarbage("count"))
end
print(most)`;

test('Lua - a thread of Envoy keeps at most 16 MiB, whatever keys and addresses callers have', (t) => {
  const { output, errors } = runLua([...SETTINGS, '-e', REMEMBER]);
  t.is(errors, '');
  t.log(output);
  t.true(Number(output) < 16 * 1024, `${output} KiB`);
});

const READ_JSON = `
package.path = "envoy/?.lua"
local read = require("json").read
for hex in io.lines() do
  local text = hex:gsub("..", function(code) return string.char(tonumber(code, 16)) end)
  print(read("POST", "/", text) == nil)
end`;

/** Every text of at most so many of these tokens. */
function textsOf(tokens: readonly string[], length: number): string[] {
  if (length === 0) return [''];
  return textsOf(tokens, length - 1).flatMap((text) => [text, ...tokens.map((token) => text + token)]);
}

const CHARS = Array.from({ length: 256 }, (_, code) => String.fromCharCode(code));
const TEXTS: Readonly<Record<string, readonly string[]>> = {
  numbers: textsOf([...'-+01.e'], 5).map((number) => `[1,${number}]`),
  structures: textsOf([...'[]{},:', '"a"', '1'], 5),
  'words and white space': CHARS.flatMap((char) => [`[1${char}]`, `{"a"${char}:1}`, `nul${char}`, `${char}true`]),
  texts: CHARS.flatMap((char) => [`"${char}"`, `"a\\${char}"`, `"\\\\${char}"`, `"\\u00${char}0"`, `'${char}'`]),
  'escapes and quotes': textsOf(['\\', '"', "'", 'u', '004', 'x', '\n'], 5).map((text) => `{"a":"${text}"}`),
};

for (const [what, texts] of Object.entries(TEXTS)) {
  test(`Lua JSON - accepts what JSON.parse accepts, and nothing else: ${what}`, (t) => {
    const distinct = [...new Set(texts)].filter((text) => text !== '');
    const input = distinct.map((text) => `${Buffer.from(text).toString('hex')}\n`).join('');
    const { output, errors } = runLua([...SETTINGS, '-e', READ_JSON], input);
    t.is(errors, '');
    const read = output.trimEnd().split('\n');
    const wrong = distinct.filter((text, index) => read[index] !== String(isJson(text)));
    t.deepEqual([read.length, wrong], [distinct.length, []]);
  });
}

function isJson(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}
