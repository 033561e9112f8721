/** Refuses a Host that Envoy has replaced. */
import { BAD_HOST } from '../edge-headers.ts';
import { invalidArgument } from '../errors.ts';
import { check } from '../rpc/chain.ts';

const after = { keyless: 'the caller is judged first', permission: 'the caller is judged first' };

export const host = check({ name: 'host', after }, (call) => {
  if (call.header(':authority') !== BAD_HOST) return;
  throw invalidArgument([{ path: '', name: 'Host', description: 'must be a host, with or without a port' }]);
});
