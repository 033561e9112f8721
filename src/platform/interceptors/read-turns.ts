/** Lets the pages of an account take turns (turns.ts), from the look for their rows until the response is written. */
import { apiError } from '../errors.ts';
import type { Operation } from '../proto/operations.ts';
import { around } from '../rpc/chain.ts';
import { DEFAULT_LIMIT } from '../rpc/page-token.ts';
import type { Turns } from '../rpc/turns.ts';

export const pages = (turns: Turns) =>
  around({ name: 'pages', needs: ['caller', 'request'] }, (call, next) => {
    const { operation, caller } = call;
    if (operation.response.list === undefined) return next(call);
    return turns.run(caller.accountId, rowsIn(operation, call.request as unknown as Asked), () => {
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
