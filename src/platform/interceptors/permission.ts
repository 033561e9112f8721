/** Refuses what the permission of a key does not allow, before anything of the message is read. */
import { apiError } from '../errors.ts';
import type { Operation } from '../proto/operations.ts';
import type { Permission } from '../rpc/caller.ts';
import { check } from '../rpc/chain.ts';

/** What each permission allows. A method that does not exist is no read. */
const ALLOWS: Readonly<Record<Permission, (operation: Operation) => boolean>> = {
  read: ({ isRead }) => isRead,
  write: () => true,
};

const after = { limits: 'a refused request counts like any' };

export const permission = check({ name: 'permission', needs: ['caller'], after }, (call) => {
  if (!ALLOWS[call.caller.permission](call.operation)) throw apiError('PERMISSION_DENIED');
});
