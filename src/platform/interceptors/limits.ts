/** Counts each request against the account of its caller. */
import type { RequestLimits } from '../access/limits/request-limits.ts';
import { interceptor } from '../rpc/chain.ts';

export const limits = ({ countForAccount }: Pick<RequestLimits, 'countForAccount'>) =>
  interceptor({ name: 'limits', needs: ['caller'] }, async (call, next) => {
    await countForAccount(call, call.caller);
    return next(call);
  });
