import { crc32 } from 'node:zlib';
import test from 'ava';
import { generateKey, isWellFormed } from '../../../src/platform/access/keys/format.ts';

const ALPHABET = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz';

test('Key - is pst_, 32 random characters and 6 of checksum', (t) => {
  const keys = Array.from({ length: 10_000 }, () => generateKey());
  for (const generated of keys) {
    t.regex(generated, /^pst_[0-9A-Za-z]{38}$/);
    const value = [...generated.slice(36)].reduce((sum, digit) => sum * 62 + ALPHABET.indexOf(digit), 0);
    t.is(value, crc32(generated.slice(0, 36)), 'the CRC-32 of everything before it, in base62');
    t.true(isWellFormed(generated));
  }
  t.is(new Set(keys).size, keys.length);
});

test('Key - every character of the alphabet is equally likely', (t) => {
  const counts = new Map<string, number>();
  const keys = 3_000;
  for (let i = 0; i < keys; i += 1) {
    for (const character of generateKey().slice(4, 36)) counts.set(character, (counts.get(character) ?? 0) + 1);
  }
  const expected = (keys * 32) / 62;
  const chiSquare = [...ALPHABET].reduce((sum, one) => sum + ((counts.get(one) ?? 0) - expected) ** 2 / expected, 0);
  // 61 degrees of freedom: above 160 once in 10^10 runs. Bytes modulo 62 would come to about 600.
  t.true(chiSquare < 160, `chi-square is ${chiSquare}`);
});

test('Well-formed - rejects every change of one character, swapped neighbours, and other texts', (t) => {
  const generated = generateKey();
  const changes = Array.from(generated, (_, at) => {
    const [before, after] = [generated.slice(0, at), generated.slice(at)];
    const others = Array.from(`${ALPHABET}-_é`, (character) => before + character + after.slice(1));
    return [...others, before + after.slice(1, 2) + after.slice(0, 1) + after.slice(2)];
  }).flat();
  const texts = ['', 'pst_', generated.slice(1), generated.slice(0, -1), `${generated}0`, ` ${generated}`];
  texts.push(`${generated}\n`, generated.toUpperCase());
  const accepted = [...changes, ...texts].filter((text) => text !== generated && isWellFormed(text));
  t.deepEqual(accepted, []);
});
