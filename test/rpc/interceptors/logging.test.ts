import test from 'ava';
import pino from 'pino';
import { anyError } from '../../../src/error-table.ts';
import { invalidArgument } from '../../../src/errors.ts';
import type { Next } from '../../../src/rpc/chain.ts';
import { logging } from '../../../src/rpc/interceptors/logging.ts';
import { newCall, RESPONSE, run } from '../../support/call.ts';

// biome-ignore lint/suspicious/noExplicitAny: a log line is whatever was logged
type Line = any;

const { debug: DEBUG } = pino.levels.values;

/** Runs a call that ends like `next`, and returns the lines logged at `level` and above. */
async function logged(next: Next, level = 'debug', call = newCall('PetService/GetPet')): Promise<Line[]> {
  const lines: Line[] = [];
  const logger = pino({ level, base: null }, { write: (line: string) => lines.push(JSON.parse(line)) });
  logging(logger)(call, await run(call, next));
  return lines;
}

test('Logging - a call is one line at debug: its outcome, its request id, its duration', async (t) => {
  for (const [next, outcome] of [
    [async () => RESPONSE, 'OK'],
    [() => Promise.reject(anyError('PET_NOT_FOUND', { petId: 7n })), 'PET_NOT_FOUND'],
  ] as const) {
    const [line, ...others] = await logged(next);
    t.like(line, { level: DEBUG, requestId: 'request-1', method: '/petstore.v1.PetService/GetPet', outcome });
    t.is(typeof line.durationMs, 'number');
    t.deepEqual(others, []);
  }
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
