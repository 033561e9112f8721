/** Refuses what the permission of a key does not allow, before anything of the message is read. */
import { apiError } from '../errors.ts';
import { check } from '../rpc/chain.ts';

const after = { limits: 'a refused request counts like any' };

export const permission = check({ name: 'permission', needs: ['caller'], after }, (call) => {
  // A method that does not exist is no read.
  if (call.caller.permission !== 'write' && !call.operation.isRead) throw apiError('PERMISSION_DENIED');
});
