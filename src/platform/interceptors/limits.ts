/** Counts each request against the account of its caller. */
import type { RequestLimits } from '../access/limits/request-limits.ts';
import { check } from '../rpc/chain.ts';

export const limits = ({ countForAccount }: Pick<RequestLimits, 'countForAccount'>) =>
  check({ name: 'limits', needs: ['caller'], leaves: ['isAdmitted'] }, (call) => {
    const admit = () => {
      call.isAdmitted = true;
    };
    const counting = countForAccount(call, call.caller);
    return counting instanceof Promise ? counting.then(admit) : admit();
  });
