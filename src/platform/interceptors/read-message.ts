/** Reads the request message and checks its rules. The interceptors before this one decide by the headers alone. */
import { invalidArgument } from '../errors.ts';
import type { FindViolations } from '../proto/validation-rules.ts';
import { check } from '../rpc/chain.ts';
import { rowsOf, type Turns } from '../rpc/turns.ts';

const WHY = 'nothing of the message of a refused caller is read';
const BY_HEADERS = 'what the headers tell is said before';
const after = {
  ...{ authentication: WHY, limits: WHY, permission: WHY, keyless: WHY, operatorOnly: WHY, audit: WHY },
  ...{ host: BY_HEADERS, rest: BY_HEADERS },
};

export const readMessage = (findViolations: FindViolations, turns: Turns) =>
  check({ name: 'readMessage', leaves: ['request'], after }, async (call) => {
    const { caller } = call;
    await call.receive((bytes, read) => {
      const rows = rowsOf(bytes);
      return caller === undefined || rows === 0 ? read() : turns.run(caller.accountId, rows, read);
    });
    const violations = findViolations(call.operation, call.request);
    if (violations.length > 0) throw invalidArgument(violations);
  });
