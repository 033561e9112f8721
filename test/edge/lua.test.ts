/**
 * Runs the tests of the functions behind Envoy's Lua filters (envoy/test), and decodes the messages that they send to
 * the server. The filters themselves run in Envoy in most other tests: here in questions.test.ts.
 */
import { readdirSync } from 'node:fs';
import type { ExecutionContext } from 'ava';
import fc from 'fast-check';
import { luaSettings } from '../../envoy/config/lua.ts';
import { FailRequest, RefuseRequest } from '../../gen/petstore/edge/v1/edge.ts';
import { generateKey } from '../../src/access/keys/format.ts';
import { readConfig } from '../../src/config/config.ts';
import { luaTest, runLua } from '../support/luajit.ts';

const test = luaTest();

const FOLDER = 'envoy/test';
/** Defines the settings as Envoy's configuration does. */
const SETTINGS = ['-e', luaSettings(readConfig({ EDGE_SECRET: 'the-secret-of-the-edge-in-tests' }))];

interface LuaTest {
  readonly title: string;
  readonly hasPassed: boolean;
  /** The error and its stack trace; empty if the test has passed. */
  readonly problem: string;
}

/** Reads TAP as run.lua writes it. */
function parseTap(output: string): LuaTest[] {
  const tests = output.split(/^(?=(?:not )?ok )/m).slice(1);
  return tests.flatMap((text) => {
    const [, isNot, title, problem = ''] = /^(not )?ok \d+ - ([^\n]*)\n(.*)$/s.exec(text) ?? [];
    return title === undefined ? [] : [{ title, hasPassed: isNot === undefined, problem }];
  });
}

const files = readdirSync(FOLDER).filter((name) => name.endsWith('_test.lua'));
const { output, errors } = runLua([...SETTINGS, `${FOLDER}/run.lua`, ...files.map((name) => `${FOLDER}/${name}`)]);
const luaTests = parseTap(output);

test('Lua - every test of the filters runs to its end', (t) => {
  t.is(errors, '');
  t.true(files.length > 0 && luaTests.length > 0);
  t.is(output.split('\n', 1)[0], `1..${luaTests.length}`);
});

for (const { title, hasPassed, problem } of luaTests) {
  test(`Lua - ${title}`, (t) => t.true(hasPassed, problem));
}

test('Lua keys - have the format and the checksum that the server gives them', (t) => {
  const keys = Array.from({ length: 200 }, () => generateKey());
  const script = 'local format = dofile("envoy/keys.lua"); for k in io.lines() do print(format.is_well_formed(k)) end';
  const checked = runLua(['-e', script], [...keys, generateKey('pso')].map((key) => `${key}\n`).join(''));
  t.deepEqual(checked, { output: `${'true\n'.repeat(keys.length)}false\n`, errors: '' });
});

/** The messages in the frames that Lua sends for these requests (see edge_requests.lua). */
function messagesOf(t: ExecutionContext, requests: readonly string[]): Buffer[] {
  const sent = runLua([...SETTINGS, `${FOLDER}/edge_requests.lua`], requests.map((request) => `${request}\n`).join(''));
  t.is(sent.errors, '');
  const frames = sent.output.split('\n').slice(0, -1);
  t.is(frames.length, requests.length);
  return frames.map((hex) => {
    const frame = Buffer.from(hex, 'hex');
    const message = frame.subarray(5);
    t.is(frame[0], 0, 'not compressed');
    t.is(frame.readUInt32BE(1), message.length);
    return message;
  });
}

/** Omits a field without a value. */
function field(name: string, value: string | undefined): string {
  return value === undefined ? '' : ` ${name}=${Buffer.from(value).toString('hex')}`;
}

function asLine({ method, path, status, reply, contentType }: RefuseRequest): string {
  const texts = field('method', method) + field('path', path) + field('reply', reply);
  return `refuse${texts}${field('content_type', contentType)} status#${status}`;
}

function decodeAll(t: ExecutionContext, requests: readonly RefuseRequest[]): void {
  const decoded = messagesOf(t, requests.map(asLine)).map((message) => RefuseRequest.decode(message));
  t.deepEqual(decoded, requests);
}

const text = fc.string({ unit: 'binary', maxLength: 200 });
const INT32_MAX = 2 ** 31 - 1;

const refuseRequest: fc.Arbitrary<RefuseRequest> = fc.record({
  method: text,
  path: text,
  status: fc.nat(INT32_MAX),
  reply: text,
  contentType: fc.option(text, { nil: undefined }),
});

test('Lua messages - the server decodes every refused request as it was sent', (t) => {
  fc.assert(
    fc.property(fc.array(refuseRequest, { minLength: 1, maxLength: 20 }), (requests) => decodeAll(t, requests)),
    { numRuns: 50 },
  );
});

test('Lua messages - lengths and numbers are decoded on both sides of each byte boundary', (t) => {
  const sizes = [0, 1, 127, 128, 255, 256, 16_383, 16_384, 65_535, 65_536, 2_097_151, 2_097_152];
  const requests = sizes.map((size) => ({
    method: 'POST',
    path: '/pets',
    status: size,
    reply: 'x'.repeat(size),
    contentType: '',
  }));
  decodeAll(t, [...requests, ...requests.map((request) => ({ ...request, status: INT32_MAX }))]);
});

test('Lua messages - Fail has a status, and Judge is empty', (t) => {
  const [fail, judge] = messagesOf(t, ['fail status#504', 'judge']);
  t.deepEqual(FailRequest.decode(fail ?? new Uint8Array()), { status: 504 });
  t.is(judge?.length, 0);
});
