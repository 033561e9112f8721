/** Counts each request against the account of its caller. */
import type { RequestLimits } from '../access/limits/request-limits.ts';
import { check } from '../rpc/chain.ts';

export const limits = ({ countForAccount }: Pick<RequestLimits, 'countForAccount'>) =>
  check({ name: 'limits', needs: ['caller'] }, (call) => countForAccount(call, call.caller));
