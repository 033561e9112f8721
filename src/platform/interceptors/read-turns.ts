/** Lets the reads of an account take turns (turns.ts), from the look for their rows until the response is written. */
import { apiError } from '../errors.ts';
import type { Operation } from '../proto/operations.ts';
import { around } from '../rpc/chain.ts';
import { DEFAULT_LIMIT } from '../rpc/page-token.ts';
import type { Turns } from '../rpc/turns.ts';

export const readTurns = (turns: Turns) =>
  around({ name: 'readTurns', needs: ['caller', 'request'] }, (call, next) => {
    const { operation, caller } = call;
    const isList = operation.response.list !== undefined;
    // Asked for each call, also a write: it tells others that the account is there.
    const cost = turns.costOf(caller.accountId, isList ? rowsIn(operation, call.request as unknown as Asked) : 0);
    if (cost === 0 || !operation.isRead || operation.isStream) return next(call);
    return turns.run(caller.accountId, cost, () => {
      if (call.isCancelled()) throw apiError('DEADLINE_EXCEEDED'); // while it waited
      return next(call);
    });
  });

interface Asked extends Readonly<Record<string, unknown>> {
  readonly limit?: number;
}

/** How many rows a page may have. */
function rowsIn({ idList }: Operation, request: Asked): number {
  const ids = idList === undefined ? [] : (request[idList.localName] as readonly unknown[]);
  return ids.length || (request.limit ?? DEFAULT_LIMIT);
}
