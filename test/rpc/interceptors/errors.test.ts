import test from 'ava';
import { anyError } from '../../../src/error-table.ts';
import { toApiError } from '../../../src/rpc/error-mapping.ts';
import { Cancelled, StoreUnavailable } from '../../../src/storage/store-errors.ts';

const caught = (thrown: unknown) => toApiError(thrown, 'request-7');

test('Errors - an unexpected error becomes INTERNAL with its cause for the log, and nothing of it is sent', (t) => {
  for (const thrown of [
    new Error('SQLITE_FULL: /secret/path'),
    new TypeError('secret'),
    'secret',
    undefined,
    null,
    7,
  ]) {
    const { code, message, headers, violations, cause } = caught(thrown);
    t.deepEqual([code, message], ['INTERNAL', 'something went wrong on our side; request id request-7']);
    t.notRegex(JSON.stringify({ headers, violations }), /secret|SQLITE/);
    t.is(cause, thrown);
  }
});

test('Errors - an ApiError passes, cancelled work is DEADLINE_EXCEEDED, a store without room UNAVAILABLE', (t) => {
  const error = anyError('PET_NOT_FOUND', { petId: 7n });
  t.is(caught(error), error);
  t.is(caught(new Cancelled()).code, 'DEADLINE_EXCEEDED');
  t.is(caught(new StoreUnavailable()).code, 'UNAVAILABLE');
});
