import test from 'ava';
import { entityTag } from '../../../src/rpc/entity-tags.ts';
import { etags } from '../../../src/rpc/interceptors/etags.ts';
import { handler, newCall } from '../../support/call.ts';
import { PUBLIC } from '../../support/resources.ts';

const BYTES = Buffer.from('a representation');

async function intercept(path: string, metadata: Readonly<Record<string, string>> = {}) {
  const call = newCall(path, { metadata });
  const { calls, next } = handler({ message: {}, bytes: BYTES });
  await etags(call, next);
  return { etag: call.responseHeaders.get('etag'), ifMatch: calls[0]?.ifMatch };
}

test('ETag - a response that is one resource has the tag of its bytes, others and errors have none', async (t) => {
  for (const { path, isTagged } of PUBLIC) {
    t.is((await intercept(path)).etag, isTagged ? entityTag(BYTES) : undefined, path);
  }
  const call = newCall('PetService/GetPet');
  await t.throwsAsync(etags(call, () => Promise.reject(new Error('not found'))));
  t.is(call.responseHeaders.size, 0);
});

test('If-Match - reaches a method that changes something, as a list of tags; others ignore it', async (t) => {
  for (const { path, condition } of PUBLIC) {
    const takes = condition === 'if-match';
    t.deepEqual(
      (await intercept(path, { 'if-match': '"a", W/"b"' })).ifMatch,
      takes ? ['"a"', 'W/"b"'] : undefined,
      path,
    );
    t.is((await intercept(path)).ifMatch, undefined, path);
    if (!takes) t.is((await intercept(path, { 'if-match': 'nonsense' })).ifMatch, undefined, path);
  }
});

test('If-Match - several metadata entries are one list', async (t) => {
  const call = newCall('PetService/ReplacePet', { metadata: { 'if-match': '"a"' } });
  call.metadata.add('if-match', '"b"');
  const { calls, next } = handler();
  await etags(call, next);
  t.deepEqual(calls[0]?.ifMatch, ['"a"', '"b"']);
});

test('If-Match - a malformed list is INVALID_ARGUMENT, and the method is not called', async (t) => {
  for (const value of ['', 'a', '*, "a"', '"a']) {
    const { calls, next } = handler();
    const call = newCall('PetService/ReplacePet', { metadata: { 'if-match': value } });
    const error = await t.throwsAsync(etags(call, next));
    t.like(error, { code: 'INVALID_ARGUMENT', violations: [{ path: 'if-match', name: 'if-match' }] });
    t.deepEqual(calls, []);
  }
});
