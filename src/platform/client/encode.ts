/** Encodes requests. What can't be encoded throws before anything is sent: it is no failure of a connection. */
import { REQUESTS } from '../../../gen/client/methods.ts';
import type { MethodOf } from './methods.ts';

/** A message of these has the default of every field. */
const NO_BYTES = Buffer.alloc(0);

/** Fills in what is absent, and encodes. @throws TypeError for a value that its field can't have. */
export function encode<Request extends object>(method: MethodOf<string, Request, unknown>, request: object): Buffer {
  const { path, requestSerialize, requestDeserialize } = method;
  try {
    // Other services, such as the operator's, have no entry: their messages have no lists within messages.
    const filled = REQUESTS[path]?.fromPartial(request as never) ?? { ...requestDeserialize(NO_BYTES), ...request };
    checkMessages(filled, request);
    return requestSerialize(filled as Request);
  } catch (error) {
    throw new TypeError(`${path}: the request can't be encoded: ${(error as Error).message}`, { cause: error });
  }
}

/** Throws for a Date or a text in place of a message: what has none of its fields would count as an empty one. */
function checkMessages(filled: object, given: object, prefix = ''): void {
  for (const [field, message] of Object.entries(filled)) {
    if (typeof message !== 'object' || message === null || ArrayBuffer.isView(message)) continue;
    const [path, value] = [prefix + field, Reflect.get(given, field) ?? {}];
    const isPlain = Array.isArray(message) || Object.getPrototypeOf(value) === Object.prototype;
    if (Object(value) !== value || !(isPlain || Object.keys(message).some((name) => name in value))) {
      throw new TypeError(`${path} is no message with ${Object.keys(message)}, but ${value.constructor?.name}`);
    }
    checkMessages(message, value, `${path}.`);
  }
}
