/** A channel to a server and the calls over it: key, deadline, admission, errors. It knows no service by name. */
import { randomUUID } from 'node:crypto';
import { Client, Metadata, type ServiceError } from '@grpc/grpc-js';
import { CREATING } from '../../../gen/client/methods.ts';
import { CLIENT_SILENCE_MS } from '../config/times.ts';
import { Admission, type Expiry } from './admission.ts';
import { clientError, toCallError } from './call-error.ts';
import { encode } from './encode.ts';
import { keepEtag } from './etags.ts';
import type { CreateOptions, Definition, MethodOf, Methods, WriteOptions } from './methods.ts';
import { MAX_ATTEMPTS, retryConfig } from './retries.ts';
import { security, type TlsOptions } from './tls.ts';

const DEFAULT_TIMEOUT_MS = 10_000;
/** gRPC can express no longer one, and grpc-js would never send the call. */
const MAX_TIMEOUT_MS = 99_999_999 * 3_600_000;
/** Less than half of the refusals that ban a key, so that those of two windows together don't ban it. */
const DEFAULT_MAX_IN_FLIGHT = 8;
/** A connection whose other end does not respond within 10 s is closed, so that the next attempt opens another. */
const KEEPALIVE = { 'grpc.keepalive_time_ms': 20_000, 'grpc.keepalive_timeout_ms': 10_000 };
/** The first and the longest delay before a lost connection is opened again. */
const RECONNECT = { 'grpc.initial_reconnect_backoff_ms': 200, 'grpc.max_reconnect_backoff_ms': 5_000 };

/** Where and how to call. */
export interface ConnectionOptions {
  /** `host:port`, `https://host` (TLS) or `http://host` (none). */
  readonly address: string;
  /** Sent with every call as `authorization: Bearer <apiKey>`. */
  readonly apiKey: string;
  /** `true` or certificates of your own: speak TLS. Default: as `address` says, or plaintext. */
  readonly tls?: boolean | TlsOptions;
  /** How long a call may take, waiting and retries included, in milliseconds. Default 10,000. */
  readonly timeoutMs?: number;
  /** Attempts at a call that may be retried, while the server is unavailable or too slow, 1 to 5. Default 5. */
  readonly maxAttempts?: number;
  /** Calls in flight at once; the others wait. Default 8: with more, a key can be banned when its limit is reached. */
  readonly maxInFlight?: number;
}

export interface Connection {
  service<D extends Definition>(definition: D): Methods<D>;
  /**
   * Opens a server stream, which says something at least every 15 s. The iteration throws CallError at its end, and
   * the signal's reason when that aborts, and TypeError for a request that can't be encoded.
   */
  stream<Request extends object, Message>(
    method: MethodOf<string, Request, Message>,
    request: Request,
    signal: AbortSignal,
  ): AsyncIterable<Message>;
  /** Aborts when the connection begins to close, with a CallError as its reason. */
  readonly closing: AbortSignal;
  /** Closes the connection after the calls in flight have ended. Calls that wait to be sent fail with CANCELLED. */
  close(): Promise<void>;
}

/** Opens a connection, which connects with the first call. Throws TypeError or RangeError for bad options. */
export function connect(options: ConnectionOptions): Connection {
  const { maxAttempts = MAX_ATTEMPTS, maxInFlight = DEFAULT_MAX_IN_FLIGHT } = options;
  checkRange('maxAttempts', maxAttempts, MAX_ATTEMPTS);
  checkRange('maxInFlight', maxInFlight, Number.MAX_SAFE_INTEGER);
  if (!options.address) throw new TypeError('address is empty: set it to that of the service');
  if (!options.apiKey) throw new TypeError('apiKey is empty: set it to your key');
  // grpc-js would throw too, with the key in its message.
  if (!/^[\x21-\x7e]+$/.test(options.apiKey)) throw new TypeError('apiKey must be visible ASCII, without white space');
  const secured = security(options.address, options.tls);
  const client = new Client(secured.target, secured.credentials, {
    ...secured.options,
    ...RECONNECT,
    ...KEEPALIVE,
    'grpc.service_config': retryConfig(maxAttempts),
    'grpc.service_config_disable_resolution': 1,
  });
  const admission = new Admission(maxInFlight);
  const closing = new AbortController();

  async function call(method: AnyMethod, request: object, callOptions: AnyOptions = {}): Promise<object> {
    const { deadline, timeoutMs = options.timeoutMs ?? DEFAULT_TIMEOUT_MS, signal } = callOptions;
    const leftMs = deadline === undefined ? timeoutMs : deadline.getTime() - Date.now();
    const expiry = { deadlineMs: performance.now() + Math.min(leftMs, MAX_TIMEOUT_MS), signal };
    const message = encode(method, request);
    const metadata = toMetadata(options.apiKey, method.path, callOptions);
    try {
      return await admission.run(() => send(client, method, message, metadata, expiry), expiry);
    } catch (error) {
      signal?.throwIfAborted(); // the caller knows the signal's reason, not the error that the abort has caused
      throw error;
    }
  }

  return {
    closing: closing.signal,

    service<D extends Definition>(definition: D) {
      const methods = Object.entries(definition).map(([name, method]) => [
        name,
        (request: object, callOptions?: AnyOptions) => call(method as AnyMethod, request, callOptions),
      ]);
      return Object.fromEntries(methods) as Methods<D>;
    },

    async *stream(method, request, signal) {
      signal.throwIfAborted();
      const { path, responseDeserialize: decode } = method;
      const [message, metadata] = [encode(method, request), toMetadata(options.apiKey, path)];
      const call = client.makeServerStreamRequest(path, asTheyAre, decode, message, metadata);
      let received: Metadata | undefined;
      call.on('metadata', (initial: Metadata) => (received = initial));
      const cancel = () => call.cancel();
      let silence = setTimeout(cancel, CLIENT_SILENCE_MS);
      signal.addEventListener('abort', cancel, { once: true });
      try {
        for await (const message of call) {
          clearTimeout(silence); // not while the consumer works
          signal.throwIfAborted(); // what came before has been buffered
          yield message;
          silence = setTimeout(cancel, CLIENT_SILENCE_MS);
        }
      } catch (error) {
        signal.throwIfAborted();
        throw toCallError(error as ServiceError, received);
      } finally {
        clearTimeout(silence);
        signal.removeEventListener('abort', cancel);
        cancel();
      }
    },

    async close() {
      closing.abort(clientError('CANCELLED', 'the client is closed'));
      await admission.close();
      client.close();
    },
  };
}

function checkRange(name: string, value: number, max: number): void {
  if (Number.isInteger(value) && value >= 1 && value <= max) return;
  throw new RangeError(`${name} must be a whole number from 1 to ${max}, not ${value}`);
}

/** A method whose types are checked where it is called. */
type AnyMethod = MethodOf<string, object, object>;
type AnyOptions = CreateOptions & WriteOptions;

const asTheyAre = (bytes: Buffer) => bytes;

function toMetadata(apiKey: string, path: string, { idempotencyKey, ifMatch }: AnyOptions = {}): Metadata {
  const metadata = new Metadata();
  metadata.set('authorization', `Bearer ${apiKey}`);
  if (CREATING.some((creating) => creating === path)) metadata.set('idempotency-key', idempotencyKey ?? randomUUID());
  if (ifMatch !== undefined) metadata.set('if-match', ifMatch);
  return metadata;
}

/** One call of grpc-js, its own retries included. */
async function send(
  client: Client,
  { path, responseDeserialize: decode }: AnyMethod,
  message: Buffer,
  metadata: Metadata,
  { deadlineMs, signal }: Expiry,
): Promise<object> {
  let cancel = () => {};
  let received: Metadata | undefined;
  try {
    const response = await new Promise<object>((resolve, reject) => {
      const onEnd = (error: ServiceError | null, message?: object) =>
        error === null ? resolve(message as object) : reject(error);
      const options = { deadline: Date.now() + Math.ceil(deadlineMs - performance.now()) };
      const call = client.makeUnaryRequest(path, asTheyAre, decode, message, metadata, options, onEnd);
      call.on('metadata', (initial: Metadata) => (received = initial));
      cancel = () => call.cancel();
      signal?.addEventListener('abort', cancel, { once: true });
    });
    keepEtag(response, received);
    return response;
  } catch (error) {
    throw toCallError(error as ServiceError, received); // created here, so that its stack leads to the caller
  } finally {
    signal?.removeEventListener('abort', cancel);
  }
}
