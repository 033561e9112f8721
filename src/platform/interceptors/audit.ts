/**
 * Writes each call of the operator to the audit log. Attempts with a wrong key are logged too, but few of all together:
 * nobody may push the operator's calls out of the log, and any user of this machine has thousands of addresses.
 *
 * Of a request only ids, plans, numbers and times are logged; of a response only the ids of what was created.
 */
import { toJson } from '@bufbuild/protobuf';
import type { Logger } from 'pino';
import { createAllowance } from '../access/limits/allowance.ts';
import { WINDOWS } from '../config/plans.ts';
import type { ApiError } from '../errors.ts';
import { around, type Call, type Response } from '../rpc/chain.ts';
import { toApiError } from '../rpc/errors.ts';

const MAX_USER_AGENT = 128;
/** How many attempts are logged: at once, and a second after that. At 300 bytes, half a megabyte a day. */
const [ATTEMPTS, ATTEMPTS_PER_SECOND] = [20, 1 / 60];

const LOGGED_FIELDS = [
  'accountId',
  'keyId',
  'plan',
  ...WINDOWS.map(({ quota }) => quota),
  'permission',
  'expireTime',
  'overlapSeconds',
  'days',
];

/** `passed` is the interceptor behind the check of the key. `refused` is for a call that does not pass it. */
export function audit(log: Pick<Logger, 'info' | 'warn'>, nowMs = () => performance.now()) {
  const write = (call: Call, outcome: string, made?: object) =>
    log.info({ ...fieldsOf(call, outcome), arguments: argumentsOf(call), made }, 'the operator');
  const after = { operatorOnly: 'it logs what the operator does' };
  const passed = around({ name: 'audit', after }, async (call, next) => {
    try {
      const response = await next(call);
      write(call, 'OK', createdIds(call, response));
      return response;
    } catch (error) {
      write(call, toApiError(error, call.requestId).code);
      throw error;
    }
  });
  const mayBeLogged = createAllowance(ATTEMPTS, ATTEMPTS_PER_SECOND, nowMs);
  const refused = (call: Call, { code }: ApiError) => {
    if (mayBeLogged('all')) log.warn(fieldsOf(call, code), 'refused: not the operator');
  };
  return { passed, refused };
}

function fieldsOf(call: Call, outcome: string) {
  const userAgent = call.header('user-agent');
  return {
    method: call.operation.path.split('/').at(-1),
    outcome,
    address: call.address,
    userAgent: userAgent?.slice(0, MAX_USER_AGENT).replaceAll(/[^ -~]/g, '?'),
    requestId: call.requestId,
  };
}

/** Undefined when the message was not read. */
function argumentsOf(call: Call): object | undefined {
  try {
    const all = toJson(call.operation.input, call.request) as object;
    return Object.fromEntries(Object.entries(all).filter(([name]) => LOGGED_FIELDS.includes(name)));
  } catch {
    return undefined;
  }
}

function createdIds({ operation }: Call, response: Response): object | undefined {
  if (!('message' in response)) return undefined;
  const { id, apiKey } = response.message as { readonly id?: bigint; readonly apiKey?: { readonly id: bigint } };
  if (operation.path.endsWith('/CreateAccount')) return { accountId: String(id) };
  return /\/(Create|Rotate)Key$/.test(operation.path) ? { keyId: String(apiKey?.id) } : undefined;
}
