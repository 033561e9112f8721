/**
 * The format of API keys: a prefix for each kind, 32 random characters (190 bits), 6 characters of checksum.
 *
 * The checksum is the CRC-32 of everything before it, in base62 with leading zeros, as in GitHub's tokens: a mistyped
 * key fails without a look-up, and a secret scanner has few false positives. It detects accidents only; a key is secret
 * because it is random. That is also why an unsalted SHA-256 is enough to store it: it can't be guessed.
 */
import { hash, randomInt } from 'node:crypto';
import { crc32 } from 'node:zlib';
import { KEY_PREFIXES } from '../../../identity.ts';
import { KEY_LENGTH } from '../../config/constants.ts';

type KeyKind = keyof typeof KEY_PREFIXES;

const ALPHABET = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz';
const CHECKSUM_LENGTH = 6; // 62^6 is more than 2^32
const RANDOM_LENGTH = KEY_LENGTH - CHECKSUM_LENGTH;
const DISPLAY_LENGTH = 12;

const FORM = `(?:${Object.values(KEY_PREFIXES).join('|')})[0-9A-Za-z]{${KEY_LENGTH}}`;
const SHAPE = new RegExp(`^${FORM}$`);
/** Matches keys anywhere in a text, whatever their checksum: a mistyped key reveals most of the real one. */
export const KEY_PATTERN = new RegExp(FORM, 'g');

export const REDACTED = '(a key)';

export const hideKeys = (text: string) => text.replaceAll(KEY_PATTERN, REDACTED);

export function generateKey(kind: KeyKind = 'account'): string {
  // randomInt is uniform: a random byte modulo 62 would favour some characters.
  const random = Array.from({ length: RANDOM_LENGTH }, () => ALPHABET.charAt(randomInt(ALPHABET.length)));
  const body = KEY_PREFIXES[kind] + random.join('');
  return body + checksum(body);
}

/** Checks format and checksum: detects any one wrong character and any two adjacent characters swapped. */
export function isWellFormed(key: string, kind: KeyKind = 'account'): boolean {
  if (!SHAPE.test(key) || !key.startsWith(KEY_PREFIXES[kind])) return false;
  return checksum(key.slice(0, -CHECKSUM_LENGTH)) === key.slice(-CHECKSUM_LENGTH);
}

export const hashKey = (key: string) => hash('sha256', key, 'buffer');

export const displayPrefix = (key: string) => key.slice(0, DISPLAY_LENGTH);

function checksum(body: string): string {
  let rest = crc32(body);
  let digits = '';
  for (let place = 0; place < CHECKSUM_LENGTH; place += 1) {
    digits = ALPHABET.charAt(rest % ALPHABET.length) + digits;
    rest = Math.floor(rest / ALPHABET.length);
  }
  return digits;
}

const BEARER = /^Bearer +([^\s]+) *$/i; // RFC 9110, section 11.1: the scheme is case-insensitive

/** The token of an Authorization header (RFC 6750, section 2.1), if it has one. So reads `normalize` in keys.lua. */
export const bearerToken = (authorization = ''): string | undefined => BEARER.exec(authorization)?.[1];
