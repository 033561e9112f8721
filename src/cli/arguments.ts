/** Parsers of arguments. A mistake is a usage error: one line that names the argument and what it should be. */
import { type ServerAddress, toServer } from '../config/checks.ts';
import { usageError } from './failure.ts';

/** Parses a whole number. `what` names it in an error: `--account`. */
function toWholeNumber(what: string, text: string, min: bigint, max: bigint): bigint {
  const value = /^\d{1,19}$/.test(text) ? BigInt(text) : -1n;
  if (value >= min && value <= max) return value;
  throw usageError(`${what} must be a whole number from ${min} to ${max}, not "${text}"`);
}

/** The number of an account or key. A key, which must not be shown, is not repeated in the error. */
export function toId(what: string): (text: string) => bigint {
  return (text) => {
    if (text.startsWith('pst_'))
      throw usageError(`${what} must be a number, as "petstore key list" shows it, not a key`);
    return toWholeNumber(what, text, 0n, 2n ** 63n - 1n);
  };
}

/** A count of at least 1. */
export function toCount(what: string): (text: string) => number {
  return (text) => Number(toWholeNumber(what, text, 1n, 2n ** 31n - 1n));
}

const DATE = /^(\d{4}-\d{2}-\d{2})(T\d{2}:\d{2}(:\d{2}(\.\d{1,3})?)?(Z|[+-]\d{2}:\d{2}))?$/;

/** An instant (RFC 3339), or a day, meaning its beginning in UTC. */
export function toInstant(what: string): (text: string) => Date {
  return (text) => {
    const [, day] = DATE.exec(text) ?? [];
    const instant = new Date(text);
    // A Date takes the 30th of February for the 2nd of March.
    const isDay = day !== undefined && !Number.isNaN(instant.getTime()) && new Date(day).toJSON()?.startsWith(day);
    if (isDay) return instant;
    throw usageError(`${what} must be a date such as 2027-01-31 or 2027-01-31T12:00:00Z, not "${text}"`);
  };
}

export function toServerAddress(text: string): ServerAddress {
  const address = toServer(text);
  if (address !== undefined) return address;
  throw usageError(`--address must be HOST:PORT, such as 127.0.0.1:50051, not "${text}"`);
}
