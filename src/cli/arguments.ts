/** Parsers of arguments. A mistake is a UsageError: one line that names the argument and what it should be. */
import { Plan } from '../../gen/petstore/admin/v1/admin.ts';
import { UsageError } from './failure.ts';

const MAX_INT32 = 2 ** 31 - 1;
const MAX_INT64 = 2n ** 63n - 1n;

/** Parses the number of an account or key. `what` names it in an error: `--account`. Possible keys are not shown. */
export function toId(what: string): (text: string) => bigint {
  return (text) => {
    const id = /^\d{1,19}$/.test(text) ? BigInt(text) : -1n;
    if (id >= 0n && id <= MAX_INT64) return id;
    if (text.startsWith('pst_'))
      throw new UsageError(`${what} must be a number, as "petstore key list" shows it, not a key`);
    throw new UsageError(`${what} must be a whole number from 0 to ${MAX_INT64}, not "${text}"`);
  };
}

/** A count of at least 1. */
export function toCount(what: string): (text: string) => number {
  return (text) => {
    const count = /^\d+$/.test(text) ? Number(text) : 0;
    if (count >= 1 && count <= MAX_INT32) return count;
    throw new UsageError(`${what} must be a whole number from 1 to ${MAX_INT32}, not "${text}"`);
  };
}

const PREFIX = 'PLAN_';
type PlanName = keyof typeof Plan;

/** The plans' names: the proto's, in lower case. */
export const PLAN_NAMES = (Object.keys(Plan) as PlanName[])
  .filter((name) => name !== 'PLAN_UNSPECIFIED')
  .map((name) => name.slice(PREFIX.length).toLowerCase());

/** A plan by one of PLAN_NAMES. */
export function toPlan(name: string): Plan {
  return Plan[`${PREFIX}${name.toUpperCase()}` as PlanName];
}

export function planName(plan: Plan): string {
  const name = (Object.keys(Plan) as PlanName[]).find((candidate) => Plan[candidate] === plan);
  return name?.slice(PREFIX.length).toLowerCase() ?? String(plan);
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
    throw new UsageError(`${what} must be a date such as 2027-01-31 or 2027-01-31T12:00:00Z, not "${text}"`);
  };
}

/** `host:port`, as gRPC wants it. */
export function toAddress(text: string): string {
  if (/^(\[[\da-f:.]+\]|[^\s:/[\]]+):\d{1,5}$/i.test(text)) return text;
  throw new UsageError(`--address must be HOST:PORT, such as 127.0.0.1:50051, not "${text}"`);
}
