import test from 'ava';
import pino from 'pino';
import { anyError } from '../../../src/error-table.ts';
import { invalidArgument } from '../../../src/errors.ts';
import type { Next } from '../../../src/rpc/chain.ts';
import { logging } from '../../../src/rpc/interceptors/logging.ts';
import { newCall, RESPONSE, run } from '../../support/call.ts';

// biome-ignore lint/suspicious/noExplicitAny: a log line is whatever was logged
type Line = any;

const { debug: DEBUG, error: ERROR } = pino.levels.values;

/** Runs a call that ends like `next`, and returns the lines logged at `level` and above. */
async function logged(next: Next, level = 'debug', call = newCall('PetService/GetPet')): Promise<Line[]> {
  const lines: Line[] = [];
  const logger = pino({ level, base: null }, { write: (line: string) => lines.push(JSON.parse(line)) });
  logging(logger)(call, await run(call, next));
  return lines;
}

test('Logging - a successful call is one line at debug', async (t) => {
  const lines = await logged(async () => RESPONSE);
  t.is(lines.length, 1);
  const { level, requestId, method, outcome, durationMs } = lines[0];
  t.is(level, DEBUG);
  t.is(requestId, 'request-1');
  t.is(method, '/petstore.v1.PetService/GetPet');
  t.is(outcome, 'OK');
  t.is(typeof durationMs, 'number');
});

test('Logging - an error is one line at debug with its code', async (t) => {
  const lines = await logged(() => Promise.reject(anyError('PET_NOT_FOUND', { petId: 7n })));
  t.is(lines.length, 1);
  t.is(lines[0].level, DEBUG);
  t.is(lines[0].outcome, 'PET_NOT_FOUND');
});

test('Logging - the cause of INTERNAL is logged at error, with the request id and a stack', async (t) => {
  const lines = await logged(() => Promise.reject(new Error('disk full')), 'error');
  t.is(lines.length, 1);
  const { level, requestId, outcome, err } = lines[0];
  t.is(level, ERROR);
  t.is(requestId, 'request-1');
  t.is(outcome, 'INTERNAL');
  t.is(err.message, 'disk full');
  t.regex(err.stack, /logging\.test\.ts/);
});

test('Logging - at info neither responses nor errors are logged', async (t) => {
  t.deepEqual(await logged(async () => RESPONSE, 'info'), []);
  t.deepEqual(await logged(() => Promise.reject(anyError('API_KEY_MISSING', { seen: '' })), 'info'), []);
});

test('Logging - nothing of headers, body, response or error message is logged', async (t) => {
  const metadata = { authorization: 'Bearer SECRET-KEY', cookie: 'SECRET-COOKIE', 'x-forwarded-for': 'SECRET-ADDRESS' };
  const call = newCall('PetService/CreatePet', { metadata, bytes: Buffer.from('SECRET-BODY') });
  const violations = [{ path: 'pet.SECRET', name: 'SECRET', description: 'SECRET' }];
  const ends: Next[] = [
    async () => ({ message: { name: 'SECRET-RESPONSE' }, bytes: Buffer.from('SECRET-RESPONSE') }),
    () => Promise.reject(invalidArgument(violations)),
    () => Promise.reject(new Error('disk full')),
  ];
  for (const next of ends) {
    const lines = await logged(next, 'trace', call);
    t.is(lines.length, 1);
    t.notRegex(JSON.stringify(lines), /SECRET|authorization|bearer|cookie/i);
  }
});
