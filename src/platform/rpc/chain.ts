/**
 * The chain of interceptors that every call passes before its handler. Most only check the call: `(call) => void`. The
 * others are around what follows: `(call, next) => response`. Each says what it needs, what it leaves, and what must be
 * before it. A chain in another order does not start.
 *
 * The chain starts as soon as the headers of a call have arrived. The interceptor `readMessage` reads the message, for
 * calls that the interceptors before it have admitted.
 *
 * Streams: the response of a method that streams is a sequence of messages. The chain ends when the sequence is there,
 * before its first message. How a call ended, a stream too, only observers learn.
 */
import type { IncomingHttpHeaders } from 'node:http2';
import type { Message } from '@bufbuild/protobuf';
import type { status as Status } from '@grpc/grpc-js';
import type { ApiError } from '../errors.ts';
import type { Operation } from '../proto/operations.ts';
import type { Remember } from '../tables/idempotency.ts';
import type { Caller, Identity } from './caller.ts';
import type { EntityTags } from './entity-tags.ts';

/** Encodes and decodes the responses of a method. ts-proto's definition of a method is one. */
export interface Codec {
  responseSerialize(message: unknown): Buffer;
  responseDeserialize(bytes: Buffer): unknown;
}

export interface End {
  readonly code: Status;
  /**
   * The error that the caller got, or would have got. Undefined for a success, and for a stream of events that was
   * ended after it had begun: its caller goes on from the last id.
   */
  readonly error: ApiError | undefined;
  /** From the headers of the call to its end. */
  readonly durationMs: number;
}

/** Learns how each call has ended. Must neither block nor throw. */
export type Observer = (call: Call, end: End) => void;

/** Runs `read`, at once or later: it reads a message, which takes as long as so many bytes do. */
export type InTurn = <T>(bytes: number, read: () => T) => T | Promise<T>;

/**
 * Where a call comes from: `direct`, by a connection of its own; `forwarded`, a caller's call that Envoy has forwarded,
 * and what Envoy asks on behalf of a caller; `edge`, of Envoy itself, such as a health check.
 */
export type Source = 'direct' | 'forwarded' | 'edge';

/** What interceptors leave on a call, for those behind them, for the method and for observers. */
export interface Notes {
  caller?: Caller;
  /** The limits of its account let the call in. */
  isAdmitted?: true;
  /** Its key could not be looked up. */
  isUnjudged?: true;
  /** The call has the operator's key. */
  isOperator?: true;
  /** A write must find one of these tags, or change nothing. */
  ifMatch?: EntityTags;
  /** For a stream of events: looks again whose key it came with. The sweep of open-calls.ts does. */
  identify?: () => Identity | Promise<Identity>;
  /** For a stream of events: the id that the caller has last got. */
  resumeAfter?: bigint;
  /** The write must store this record of its response, in the same transaction. */
  remember?: Remember;
}

/** A call. Only the interceptor that leaves a note can set it. */
export interface Call extends Readonly<Notes> {
  readonly operation: Operation;
  readonly codec: Codec;
  /** How the caller speaks, found once from the headers. */
  readonly protocol: Protocol;
  /** A header of the request: the metadata of gRPC; for REST as Envoy passes it on. Several of a name are one list. */
  header(name: string): string | undefined;
  /** The caller's address, as the limits count it (`addressOf`). */
  readonly address: string;
  readonly source: Source;
  /** Reads the request message, once for all. Rejects with ApiError when it is too large, too slow or malformed. */
  receive(inTurn?: InTurn): Promise<void>;
  /** Bounds the messages that are yet to be read. */
  boundMessages(maxBytes: number): void;
  /** The messages of a method whose request is a stream. Reads each when it is asked for, so it holds one at a time. */
  messages(): AsyncIterable<Buffer>;
  /** The request message. Available after `receive`. */
  readonly request: Message;
  /** Identifies the request in logs: the x-request-id of the caller or of Envoy. */
  readonly requestId: string;
  /** True once the deadline has passed or the caller has left. */
  readonly isCancelled: () => boolean;
  /** Calls the listener once, when nothing of the call is left: its stream is closed. */
  onClose(listener: () => void): void;
  /** Headers of the response; an error response has them too. */
  readonly responseHeaders: Map<string, string>;
}

export interface UnaryResponse {
  readonly message: unknown;
  /** The encoded message, if it has been encoded: a list over REST never is. */
  readonly bytes?: Buffer;
  /** True when the caller has it already, by If-None-Match: REST does not send it again. */
  readonly isUnmodified?: boolean;
}

export function encoded({ codec }: Pick<Call, 'codec'>, { message, bytes }: UnaryResponse): Buffer {
  return bytes ?? codec.responseSerialize(message);
}

export interface StreamResponse {
  readonly messages: AsyncIterable<unknown>;
}

export type Response = UnaryResponse | StreamResponse;

/** A response as HTTP/2 carries it: of any protocol, gRPC included. */
export interface HttpResponse {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  /** The whole body; empty for none. */
  readonly body: string | Buffer;
  /** What gRPC sends after the body. Without a body they are headers ("Trailers-Only"). */
  readonly trailers?: Readonly<Record<string, string>>;
}

/** A message as it has arrived. */
export interface ReceivedMessage {
  /** How many bytes that are not compressed take as long to read. */
  readonly cost: number;
  /** Decompresses it. @throws ApiError */
  decompress(): Buffer;
}

/** Reads the messages of a request, one at a time, when it is asked for. */
export interface MessageReader {
  /** The largest message, compressed or not. */
  maxBytes: number;
  add(chunk: Buffer): void;
  /** Takes the next message; undefined while it has not arrived, or for none. @throws ApiError */
  next(hasEnded: boolean): ReceivedMessage | undefined;
}

/** What the headers of a request say of its messages and its time. */
export interface Opening {
  readonly messages: MessageReader;
  /** Infinity without a timeout. */
  readonly timeoutMs: number;
  /** What is wrong with the headers. */
  readonly error?: ApiError;
}

/** The start of a stream, and the bytes of its first message. */
export interface StreamStart extends Pick<HttpResponse, 'status' | 'headers' | 'trailers'> {
  readonly body: Buffer;
  /** True when nothing follows: for HEAD. */
  readonly isAll?: boolean;
}

/** How a caller speaks: how a request is read, and what the response to such a caller looks like. */
export interface Protocol {
  readonly name: 'gRPC' | 'REST' | 'Connect' | 'edge';
  open(headers: IncomingHttpHeaders): Opening;
  render(call: Call, response: UnaryResponse): HttpResponse;
  renderError(call: Call, error: ApiError): HttpResponse;
  /** Begins a stream. `first` is undefined for an empty one. `encode` makes pieces. */
  begin(call: Call, first: unknown, encode: (message: unknown) => Buffer): StreamStart;
  /** A message of a stream, as bytes. They are those of no call: other calls of the method may send them too. */
  piece(method: Pick<Call, 'operation' | 'codec'>, message: unknown): Buffer;
}

/** The rest of the chain: the interceptors behind this one, and the handler. An error may be thrown at once. */
export type Next = (call: Call) => Promise<Response>;

/** The notes, and the message once it has been read. */
type Left = keyof Notes | 'request';
type Note<Names extends Left> = Extract<Names, keyof Notes>;

interface Rules {
  readonly name: string;
  /** What those before it must have left. */
  readonly needs?: readonly Left[];
  /** What it alone leaves. */
  readonly leaves?: readonly Left[];
  /** The interceptors that must be before it in a chain that has them, and why. */
  readonly after?: Readonly<Record<string, string>>;
}

/** Refuses the call by an error, or lets it go on. A promise only where it waits: each costs a microsecond. */
export type Check = Rules & { check(call: Call): void | Promise<void> };
type Around = Rules & { run(call: Call, next: Next): Promise<Response> };

export type Interceptor = Check | Around;

/** What an interceptor says of itself, and its call, which has what it needs and lets it set what it leaves. */
type RulesOf<Needs, Leaves> = Rules & { readonly needs?: readonly Needs[]; readonly leaves?: readonly Leaves[] };
type CallOf<Needs extends Left, Leaves extends Left> = Call &
  Readonly<Required<Pick<Notes, Note<Needs>>>> &
  Pick<Notes, Note<Leaves>>;

export function check<Needs extends Left = never, Leaves extends Left = never>(
  rules: RulesOf<Needs, Leaves>,
  run: (call: CallOf<Needs, Leaves>) => void | Promise<void>,
): Check {
  return { ...rules, check: run };
}

export function around<Needs extends Left = never, Leaves extends Left = never>(
  rules: RulesOf<Needs, Leaves>,
  run: (call: CallOf<Needs, Leaves>, next: Next) => Promise<Response>,
): Around {
  return { ...rules, run };
}

/** Composes the interceptors, the outermost first, and the handler. @throws Error for an order that they forbid. */
export function chain(interceptors: readonly Interceptor[], handler: Next): Next {
  const left = new Set<Left>();
  for (const [index, { name, needs = [], leaves = [], after = {} }] of interceptors.entries()) {
    const absent = needs.find((note) => !left.has(note));
    if (absent !== undefined) throw new Error(`${name} needs \`${absent}\`, which no interceptor before it leaves`);
    const late = interceptors.slice(index + 1).find((other) => other.name in after);
    if (late !== undefined) throw new Error(`${name} must be after ${late.name}: ${after[late.name]}`);
    const twice = leaves.find((note) => left.has(note));
    if (twice !== undefined) throw new Error(`${name} leaves \`${twice}\`, which one before it leaves`);
    for (const note of leaves) left.add(note);
  }
  return interceptors.reduceRight<Next>((next, one) => {
    if ('run' in one) return (call) => one.run(call, next);
    return (call) => {
      const checking = one.check(call);
      return checking instanceof Promise ? checking.then(() => next(call)) : next(call);
    };
  }, handler);
}

/** Adds a link to a response, behind those that it has (RFC 8288, section 3). */
export function addLink(responseHeaders: Map<string, string>, link: string): void {
  const others = responseHeaders.get('link');
  responseHeaders.set('link', others === undefined ? link : `${others}, ${link}`);
}
