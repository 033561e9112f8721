import test from 'ava';
import { anyError } from '../../../src/error-table.ts';
import { ApiError } from '../../../src/errors.ts';
import { toApiError } from '../../../src/rpc/error-mapping.ts';
import { Cancelled, StoreUnavailable } from '../../../src/storage/store-errors.ts';

const caught = (thrown: unknown) => toApiError(thrown, 'request-7');

test('Errors - an ApiError passes unchanged', (t) => {
  const error = anyError('PET_NOT_FOUND', { petId: 7n });
  t.is(caught(error), error);
});

test('Errors - an unexpected error becomes INTERNAL with the request id, and nothing of it is sent', (t) => {
  for (const cause of [new Error('SQLITE_FULL: /secret/path'), new TypeError('secret'), 'secret', undefined, null, 7]) {
    const error = caught(cause);
    t.true(error instanceof ApiError);
    const { code, message, headers, violations } = error;
    t.is(code, 'INTERNAL');
    t.is(message, 'something went wrong on our side; request id request-7');
    t.notRegex(JSON.stringify({ message, headers, violations }), /secret|SQLITE/);
  }
});

test('Errors - the error keeps its cause, for the log', (t) => {
  const cause = new Error('disk full');
  t.is(caught(cause).cause, cause);
});

test('Errors - cancelled work is DEADLINE_EXCEEDED', (t) => {
  t.is(caught(new Cancelled()).code, 'DEADLINE_EXCEEDED');
});

test('Errors - a store that is closing, away or busy is UNAVAILABLE', (t) => {
  t.is(caught(new StoreUnavailable()).code, 'UNAVAILABLE');
});
