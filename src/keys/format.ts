/**
 * What an API key looks like: a prefix, 32 characters of real randomness (190 bits), 6 characters of checksum.
 *
 *     pst_ 7Jq0fZ…(32)…uR 1bX9Qa
 *
 * The checksum is the CRC-32 of everything before it, in base62 with leading zeros, as in GitHub's tokens: a mistyped
 * key fails without a look-up, and a secret scanner can tell a key from a likeness. It protects from accidents only;
 * what protects a key is its randomness. That is also why a plain SHA-256 is enough to store one: there is nothing to
 * guess.
 */
import { hash, randomInt } from 'node:crypto';
import { crc32 } from 'node:zlib';

/** `pst`: an account's key. `pso`: an operator's. */
type KeyPrefix = 'pst' | 'pso';

const ALPHABET = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz';
const RANDOM_LENGTH = 32;
const CHECKSUM_LENGTH = 6; // 62^6 is more than 2^32
const DISPLAY_LENGTH = 12;

const SHAPES: Readonly<Record<KeyPrefix, RegExp>> = {
  pst: /^pst_[0-9A-Za-z]{38}$/,
  pso: /^pso_[0-9A-Za-z]{38}$/,
};

/** Whatever looks like a key, anywhere in a text. Its checksum does not matter: a mistyped key is nearly a key. */
export const KEY_PATTERN = /ps[to]_[0-9A-Za-z]{38}/g;

/** A new key. It is shown once and never stored. */
export function generateKey(prefix: KeyPrefix = 'pst'): string {
  // randomInt draws again where a remainder would favour some characters.
  const random = Array.from({ length: RANDOM_LENGTH }, () => ALPHABET.charAt(randomInt(ALPHABET.length)));
  const body = `${prefix}_${random.join('')}`;
  return body + checksum(body);
}

/** Whether this can be a key at all. One mistyped character or two swapped neighbours never pass. */
export function isWellFormed(key: string, prefix: KeyPrefix = 'pst'): boolean {
  return SHAPES[prefix].test(key) && checksum(key.slice(0, -CHECKSUM_LENGTH)) === key.slice(-CHECKSUM_LENGTH);
}

/** SHA-256: all that is stored of a key to recognise it by. */
export function hashKey(key: string): Buffer;
export function hashKey(key: string, encoding: 'hex'): string;
export function hashKey(key: string, encoding: 'hex' | 'buffer' = 'buffer'): Buffer | string {
  return hash('sha256', key, encoding);
}

/** The beginning, for people to tell their keys apart. */
export function displayPrefix(key: string): string {
  return key.slice(0, DISPLAY_LENGTH);
}

function checksum(body: string): string {
  let rest = crc32(body);
  let digits = '';
  for (let place = 0; place < CHECKSUM_LENGTH; place += 1) {
    digits = ALPHABET.charAt(rest % ALPHABET.length) + digits;
    rest = Math.floor(rest / ALPHABET.length);
  }
  return digits;
}
