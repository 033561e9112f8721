/** Bounds the open calls of an address and their messages, for services that need no key. */
import type { RequestLimits } from '../access/limits/request-limits.ts';
import { check } from '../rpc/chain.ts';

/** Names are shorter. To read 64 KiB of unknown fields, perhaps sent as 100 bytes, takes as long as 50 refusals. */
const MAX_KEYLESS_BYTES = 1_024;

export const keyless = ({ holdForAddress }: Pick<RequestLimits, 'holdForAddress'>) =>
  check({ name: 'keyless' }, async (call) => {
    call.boundMessages(MAX_KEYLESS_BYTES);
    await holdForAddress(call, call.operation.path);
  });
