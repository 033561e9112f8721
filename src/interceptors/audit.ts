/**
 * Notes in the audit log what the operator does: when, what, from where, and how it ended. Attempts with a wrong key are
 * noted too, so many a minute: whoever makes them must be able neither to fill the disk nor to have the log rotated away.
 *
 * Of a request only ids, plans, numbers and times are noted; of a response only the ids of what was made.
 */
import { toJson } from '@bufbuild/protobuf';
import type { Logger } from 'pino';
import { ApiError } from '../errors.ts';
import { decodeRequest } from '../proto/operations.ts';
import { addressOf } from './address.ts';
import type { Call, Interceptor, Response } from './chain.ts';

/** Refused attempts that are noted in a minute. */
const MAX_REFUSED = 60;
const MINUTE_MS = 60_000;
const MAX_USER_AGENT = 128;

const ARGUMENTS = ['accountId', 'keyId', 'plan', 'perMinute', 'perDay', 'expireTime', 'days'];

export function audit(log: Pick<Logger, 'info' | 'warn'>, nowMs: () => number = () => performance.now()): Interceptor {
  let [minuteEndsMs, refused, omitted] = [0, 0, 0];
  const mayNote = (): boolean => {
    if (nowMs() >= minuteEndsMs) [minuteEndsMs, refused] = [nowMs() + MINUTE_MS, 0];
    refused += 1;
    if (refused > MAX_REFUSED) omitted += 1;
    return refused <= MAX_REFUSED;
  };
  const note = (call: Call, outcome: string, made: object) => {
    const { isOperator = false } = call;
    if (!isOperator && !mayNote()) return;
    const fields = {
      method: call.operation.path.split('/').at(-1),
      ...(isOperator ? { arguments: argumentsOf(call), ...made } : {}),
      outcome,
      address: addressOf(call),
      userAgent: userAgentOf(call),
      requestId: call.requestId,
      ...(omitted === 0 ? {} : { omitted }),
    };
    omitted = 0;
    if (isOperator) log.info(fields, 'the operator');
    else log.warn(fields, 'refused: not the operator');
  };

  return {
    name: 'audit',
    after: {},
    before: { errorMapping: 'so that how a call ended is noted by its code' },
    async intercept(call, next) {
      try {
        const response = await next(call);
        note(call, 'OK', { made: madeBy(call, response) });
        return response;
      } catch (error) {
        note(call, error instanceof ApiError ? error.code : 'UNCAUGHT', {});
        throw error;
      }
    },
  };
}

/** Undefined when the message was not read, or can't be. */
function argumentsOf(call: Call): object | undefined {
  try {
    const all = toJson(call.operation.input, decodeRequest(call.operation, call.requestBytes)) as object;
    return Object.fromEntries(Object.entries(all).filter(([name]) => ARGUMENTS.includes(name)));
  } catch {
    return undefined;
  }
}

/** The ids of a new account or key. */
function madeBy({ operation }: Call, { message }: Response): object | undefined {
  const { id, apiKey } = message as { readonly id?: bigint; readonly apiKey?: { readonly id: bigint } };
  if (operation.path.endsWith('/CreateAccount')) return { accountId: String(id) };
  return operation.path.endsWith('/CreateKey') ? { keyId: String(apiKey?.id) } : undefined;
}

function userAgentOf({ metadata }: Call): string | undefined {
  const [userAgent] = metadata.get('user-agent');
  return typeof userAgent === 'string' ? userAgent.slice(0, MAX_USER_AGENT) : undefined;
}
