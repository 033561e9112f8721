/** Refuses a Host that Envoy has replaced. */
import { BAD_HOST } from '../edge-headers.ts';
import { invalidArgument } from '../errors.ts';
import { interceptor } from '../rpc/chain.ts';

const after = { keyless: 'the caller is judged first', permission: 'the caller is judged first' };

export const host = interceptor({ name: 'host', after }, async (call, next) => {
  if (call.header(':authority') !== BAD_HOST) return next(call);
  throw invalidArgument([{ path: '', name: 'Host', description: 'must be a host, with or without a port' }]);
});
