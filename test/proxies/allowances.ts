/** Tests by the limits which callers count as one address. */
import type { ExecutionContext } from 'ava';
import { callFrom, type Door, type Protocol, type Received } from '../support/calls/callers.ts';

/** Settings with a low limit for an address. */
export const FEW_REQUESTS = { ADDRESS_PER_MINUTE: '5' };
const LIMIT = Number(FEW_REQUESTS.ADDRESS_PER_MINUTE);

let last = 0;

/** An address for documentation (RFC 5737), which no other test of the file uses. */
export function newAddress(): string {
  last += 1;
  return `203.0.113.${last}`;
}

/** Whether the request was the first of its address in this minute. */
export function isFirst({ status, headers }: Received): boolean {
  return status === 401 && headers.get('x-ratelimit-remaining') === String(LIMIT - 1);
}

/** Sends requests until one is refused, at most the quota of two minutes. Resolves with whether one was. */
export async function exceedsLimit(send: (index: number) => Promise<Received>): Promise<boolean> {
  for (let index = 0; index <= 2 * LIMIT; index += 1) {
    const { status } = await send(index);
    if (status === 429) return true;
    if (status !== 401) throw new Error(`the answer to request ${index} is ${status}`);
  }
  return false;
}

/** Asserts that two callers behind a proxy have an allowance each, and that a claimed address changes nothing. */
export async function hasOwnAllowance(
  t: ExecutionContext,
  [one, other]: readonly [string, string],
  door: Door,
  protocol: Protocol,
  key: string,
): Promise<void> {
  t.true(isFirst(await callFrom(one, door, protocol)));
  const claim = (last: number) => ({ headers: { 'x-forwarded-for': `198.51.100.${last}` } });
  t.true(await exceedsLimit((round) => callFrom(one, door, protocol, claim(round))));
  t.true(isFirst(await callFrom(other, door, protocol)));
  const headers = { authorization: `Bearer ${key}` };
  t.is((await callFrom(one, door, protocol, { headers })).status, 200);
}
