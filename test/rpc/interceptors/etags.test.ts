import test from 'ava';
import { ApiError } from '../../../src/errors.ts';
import { entityTag } from '../../../src/rpc/entity-tags.ts';
import { etags } from '../../../src/rpc/interceptors/etags.ts';
import { handler, newCall } from '../../support/call.ts';
import { PUBLIC } from '../../support/resources.ts';

const BYTES = Buffer.from('a representation');

async function intercept(path: string, metadata: Readonly<Record<string, string>> = {}) {
  const call = newCall(path, { metadata });
  const { calls, next } = handler({ message: {}, bytes: BYTES });
  await etags.intercept(call, next);
  return { etag: call.responseHeaders.get('etag'), ifMatch: calls[0]?.ifMatch };
}

test('ETag - a response that is one resource has the tag of its bytes', async (t) => {
  for (const { path } of PUBLIC.filter(({ isTagged }) => isTagged)) {
    t.is((await intercept(path)).etag, entityTag(BYTES), path);
  }
});

test('ETag - a list and an empty response have none', async (t) => {
  for (const { path } of PUBLIC.filter(({ isTagged }) => !isTagged)) {
    t.is((await intercept(path)).etag, undefined, path);
  }
});

test('ETag - an error has none', async (t) => {
  const call = newCall('PetService/GetPet');
  await t.throwsAsync(etags.intercept(call, () => Promise.reject(new Error('not found'))));
  t.is(call.responseHeaders.size, 0);
});

test('If-Match - reaches a method that changes something, as a list of tags', async (t) => {
  const metadata = { 'if-match': '"a", W/"b"' };
  for (const { path } of PUBLIC.filter(({ condition }) => condition === 'if-match')) {
    t.deepEqual((await intercept(path, metadata)).ifMatch, ['"a"', 'W/"b"'], path);
    t.is((await intercept(path)).ifMatch, undefined, path);
  }
});

test('If-Match - several metadata entries are one list', async (t) => {
  const call = newCall('PetService/ReplacePet', { metadata: { 'if-match': '"a"' } });
  call.metadata.add('if-match', '"b"');
  const { calls, next } = handler();
  await etags.intercept(call, next);
  t.deepEqual(calls[0]?.ifMatch, ['"a"', '"b"']);
});

test('If-Match - a malformed list is INVALID_ARGUMENT, and the method is not called', async (t) => {
  for (const value of ['', 'a', '*, "a"', '"a']) {
    const call = newCall('PetService/ReplacePet', { metadata: { 'if-match': value } });
    const { calls, next } = handler();
    const error = await t.throwsAsync(etags.intercept(call, next), { instanceOf: ApiError });
    t.is((error as ApiError).code, 'INVALID_ARGUMENT');
    t.like((error as ApiError).violations, [{ path: 'if-match', name: 'if-match' }]);
    t.deepEqual(calls, []);
  }
});

test('If-Match - is ignored by methods that read or create, whatever its value', async (t) => {
  for (const path of ['PetService/GetPet', 'PetService/ListPets', 'PetService/CreatePet']) {
    t.is((await intercept(path, { 'if-match': 'nonsense' })).ifMatch, undefined, path);
  }
});
