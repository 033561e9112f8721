/** Refuses what the permission of a key does not allow, before anything of the message is read. */
import { apiError } from '../errors.ts';
import type { Operation } from '../proto/operations.ts';
import type { Permission } from '../rpc/caller.ts';
import type { Interceptor } from '../rpc/chain.ts';

/** What each permission allows. A method that does not exist is no read. */
const ALLOWS: Readonly<Record<Permission, (operation: Operation) => boolean>> = {
  read: ({ isRead }) => isRead,
  write: () => true,
};

export const permission: Interceptor = async (call, next) => {
  const { caller, operation } = call;
  if (caller === undefined) throw new Error('a call reached the permissions without a caller');
  if (!ALLOWS[caller.permission](operation)) throw apiError('PERMISSION_DENIED');
  return next(call);
};
