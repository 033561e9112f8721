/** What an address has left of its requests without a key: who counts with whom. */
import type { Received } from './callers.ts';

/** Settings of a service at which an address soon has nothing left. */
export const FEW_REQUESTS = { ADDRESS_PER_MINUTE: '5' };
const LIMIT = Number(FEW_REQUESTS.ADDRESS_PER_MINUTE);

/** Whether the request was its address's first in this minute. */
export function isFirst({ status, headers }: Received): boolean {
  return status === 401 && headers.get('x-ratelimit-remaining') === String(LIMIT - 1);
}

/** Sends requests until one is refused as one too many. Resolves with whether one was: within two minutes' allowances. */
export async function usesUp(send: (index: number) => Promise<Received>): Promise<boolean> {
  for (let index = 0; index <= 2 * LIMIT; index += 1) {
    const { status } = await send(index);
    if (status === 429) return true;
    if (status !== 401) throw new Error(`the answer to request ${index} is ${status}`);
  }
  return false;
}
