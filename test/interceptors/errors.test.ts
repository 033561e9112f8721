import test from 'ava';
import { ApiError, apiError } from '../../src/errors.ts';
import { audit } from '../../src/interceptors/audit.ts';
import { chain } from '../../src/interceptors/chain.ts';
import { errorMapping } from '../../src/interceptors/error-mapping.ts';
import { recordMetrics } from '../../src/interceptors/metrics.ts';
import { Cancelled, StoreClosed, StoreUnavailable } from '../../src/storage/store-errors.ts';
import { handler, newCall, passThrough, RESPONSE } from '../support/call.ts';

async function caught(thrown: unknown): Promise<unknown> {
  const call = newCall('PetService/GetPet', { requestId: 'request-7' });
  try {
    return await errorMapping.intercept(call, () => Promise.reject(thrown));
  } catch (error) {
    return error;
  }
}

test('Errors - a response passes unchanged', async (t) => {
  const { next } = handler();
  t.is(await errorMapping.intercept(newCall('PetService/GetPet'), next), RESPONSE);
});

test('Errors - an ApiError passes unchanged', async (t) => {
  const error = apiError('PET_NOT_FOUND', { petId: 7n });
  t.is(await caught(error), error);
});

test('Errors - an unexpected error becomes INTERNAL with the request id, and nothing of it is sent', async (t) => {
  for (const cause of [new Error('SQLITE_FULL: /secret/path'), new TypeError('secret'), 'secret', undefined, null, 7]) {
    const error = await caught(cause);
    t.true(error instanceof ApiError);
    const { code, message, headers, violations } = error as ApiError;
    t.is(code, 'INTERNAL');
    t.is(message, 'something went wrong on our side; request id request-7');
    t.notRegex(JSON.stringify({ message, headers, violations }), /secret|SQLITE/);
  }
});

test('Errors - the error keeps its cause, for the log', async (t) => {
  const cause = new Error('disk full');
  t.is(((await caught(cause)) as ApiError).cause, cause);
});

test('Errors - cancelled work is DEADLINE_EXCEEDED', async (t) => {
  t.is(((await caught(new Cancelled())) as ApiError).code, 'DEADLINE_EXCEEDED');
});

test('Errors - a store that is closing, away or busy is UNAVAILABLE', async (t) => {
  t.is(((await caught(new StoreClosed())) as ApiError).code, 'UNAVAILABLE');
  t.is(((await caught(new StoreUnavailable())) as ApiError).code, 'UNAVAILABLE');
});

test('Errors - must come after logging, audit and metrics', (t) => {
  const nothing = { begin: () => undefined, end: () => undefined, fail: () => undefined, replay: () => undefined };
  const log = { info: () => undefined, warn: () => undefined };
  const logging = passThrough('logging');
  const response = async () => RESPONSE;
  t.throws(() => chain([errorMapping], response), { message: /"errorMapping" must come after "logging"/ });
  for (const first of [audit(log), recordMetrics(nothing)]) {
    t.notThrows(() => chain([logging, first, errorMapping], response));
    t.throws(() => chain([logging, errorMapping, first], response), { message: /must come before "errorMapping"/ });
  }
});
