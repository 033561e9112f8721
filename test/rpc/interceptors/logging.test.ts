import test from 'ava';
import pino from 'pino';
import { invalidArgument } from '../../../src/platform/errors.ts';
import type { Next } from '../../../src/platform/rpc/chain.ts';
import { logging } from '../../../src/platform/rpc/interceptors/logging.ts';
import { newCall, run } from '../../support/service/call.ts';

const { debug: DEBUG } = pino.levels.values;

const CALL = { level: DEBUG, requestId: 'request-1', method: '/petstore.v1.PetService/CreatePet' };

test('Logging - a call is one line, with nothing of headers, body, response or error message', async (t) => {
  const metadata = { authorization: 'Bearer SECRET-KEY', cookie: 'SECRET-COOKIE', 'x-forwarded-for': 'SECRET-ADDRESS' };
  const call = newCall('PetService/CreatePet', { metadata, bytes: Buffer.from('SECRET-BODY') });
  const violations = [{ path: 'pet.SECRET', name: 'SECRET', description: 'SECRET' }];
  const response = { message: { name: 'SECRET-RESPONSE' }, bytes: Buffer.from('SECRET-RESPONSE') };
  const ends: readonly (readonly [Next, string])[] = [
    [async () => response, 'OK'],
    [() => Promise.reject(invalidArgument(violations)), 'INVALID_ARGUMENT'],
  ];
  for (const [next, outcome] of ends) {
    const lines: unknown[] = [];
    const write = (line: string) => lines.push(JSON.parse(line));
    logging(pino({ level: 'trace', base: null, timestamp: false }, { write }))(call, await run(call, next));
    t.deepEqual(lines, [{ ...CALL, outcome, durationMs: 1, msg: 'call' }]);
  }
});
