/** Admits only the operator. Other requests count against their address: a 401, of which `refused` learns, or a 429. */
import { timingSafeEqual } from 'node:crypto';
import { bearerToken, hashKey } from '../access/keys/format.ts';
import type { RequestLimits } from '../access/limits/request-limits.ts';
import { type ApiError, apiError } from '../errors.ts';
import { type Call, type Check, check } from '../rpc/chain.ts';

export function operatorOnly(
  operatorKey: string,
  { countForAddress }: Pick<RequestLimits, 'countForAddress'>,
  refused: (call: Call, error: ApiError) => void,
): Check {
  const expected = hashKey(operatorKey);
  return check({ name: 'operatorOnly', leaves: ['isOperator'] }, async (call) => {
    const key = bearerToken(call.header('authorization'));
    // Hashes have the same length, so the comparison takes the same time for every key.
    if (key !== undefined && timingSafeEqual(hashKey(key), expected)) {
      call.isOperator = true;
      return;
    }
    await countForAddress(call, false);
    const error = apiError('OPERATOR_KEY_INVALID');
    refused(call, error);
    throw error;
  });
}
