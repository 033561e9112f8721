/** Parsers of arguments. A mistake is an error of Commander, which names the argument and repeats what was given. */
import { InvalidArgumentError } from 'commander';
import { KEY_PREFIXES, NAME } from '../../identity.ts';
import { type ServerAddress, toServer } from '../config/checks.ts';
import { usageError } from './failure.ts';

function toWholeNumber(text: string, min: bigint, max: bigint): bigint {
  const value = /^\d{1,19}$/.test(text) ? BigInt(text) : -1n;
  if (value >= min && value <= max) return value;
  throw new InvalidArgumentError(`It must be a whole number from ${min} to ${max}.`);
}

/** The number of an account or key. A key, which must not be shown, is not repeated in the error. */
export function toId(text: string): bigint {
  if (text.startsWith(KEY_PREFIXES.account))
    throw usageError(`a number is needed, as "${NAME} key list" shows it, not a key`);
  return toWholeNumber(text, 0n, 2n ** 63n - 1n);
}

export function toCount(text: string): number {
  return Number(toWholeNumber(text, 1n, 2n ** 31n - 1n));
}

const DATE = /^(\d{4}-\d{2}-\d{2})(T\d{2}:\d{2}(:\d{2}(\.\d{1,3})?)?(Z|[+-]\d{2}:\d{2}))?$/;

/** An instant (RFC 3339), or a day, meaning its beginning in UTC. */
export function toInstant(text: string): Date {
  const [, day] = DATE.exec(text) ?? [];
  const instant = new Date(text);
  // A Date takes the 30th of February for the 2nd of March.
  const isDay = day !== undefined && !Number.isNaN(instant.getTime()) && new Date(day).toJSON()?.startsWith(day);
  if (isDay) return instant;
  throw new InvalidArgumentError('It must be a date such as 2027-01-31 or 2027-01-31T12:00:00Z.');
}

const SECONDS = { s: 1, m: 60, h: 3_600, d: 86_400 } as const;

/** A time such as `24h` or `90m`, in whole seconds; `0` needs no unit. */
export function toSeconds(text: string): number {
  const [, digits, unit] = /^(\d{1,9})([smhd])$/.exec(text) ?? [];
  if (digits !== undefined) return Number(digits) * SECONDS[unit as keyof typeof SECONDS];
  if (text === '0') return 0;
  throw new InvalidArgumentError('It must be 0, or a number with s, m, h or d behind it, such as 24h.');
}

export function toServerAddress(text: string): ServerAddress {
  const address = toServer(text);
  if (address !== undefined) return address;
  throw new InvalidArgumentError('It must be HOST:PORT, such as 127.0.0.1:50051.');
}
