import test from 'ava';
import { trimmed } from '../../src/platform/proto/name.ts';

test('Names - Unicode white space around them is removed, as by the rules of the proto files', (t) => {
  t.is(trimmed('\u2003\u00a0 Tom Cat\n'), 'Tom Cat');
  t.is(trimmed('\ufeffTom'), '\ufeffTom'); // no white space for the rules, unlike for JavaScript
});
