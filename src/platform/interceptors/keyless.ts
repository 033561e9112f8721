/** Bounds the open calls of an address and their messages, for services that need no key. */
import type { RequestLimits } from '../access/limits/request-limits.ts';
import { check } from '../rpc/chain.ts';

/**
 * The largest message of a service that needs no key. The name of a file, a symbol or a service is shorter. To read
 * 64 KiB of unknown fields takes 50 times as long as a refusal, and they may be compressed to 100 bytes.
 */
const MAX_KEYLESS_BYTES = 1_024;

export const keyless = ({ holdForAddress }: Pick<RequestLimits, 'holdForAddress'>) =>
  check({ name: 'keyless' }, async (call) => {
    call.boundMessages(MAX_KEYLESS_BYTES);
    await holdForAddress(call, call.operation.path);
  });
