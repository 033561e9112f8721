/**
 * A call, from its headers on. The message is not read before `receive`, so a caller who is refused gets the error at
 * once, even when the message never arrives.
 */
import { randomUUID } from 'node:crypto';
import type { IncomingHttpHeaders, ServerHttp2Stream } from 'node:http2';
import type { Message } from '@bufbuild/protobuf';
import { status as Status } from '@grpc/grpc-js';
import { BODY_TIMEOUT_MS } from '../config/times.ts';
import { type ApiError, apiError, type PLATFORM_ERRORS } from '../errors.ts';
import type { Operation } from '../proto/operations.ts';
import { readRequest } from '../proto/request.ts';
import type { Remember } from '../tables/idempotency.ts';
import type { Caller, Identity } from './caller.ts';
import type { Call, Codec, End, InTurn, MessageReader, Protocol, Response, Source, StreamResponse } from './chain.ts';
import type { Standing } from './connections.ts';
import type { EntityTags } from './entity-tags.ts';
import { unreadable } from './errors.ts';
import { Exchange } from './exchange.ts';
import { SharedMessages } from './shared-messages.ts';

/** Other request ids are replaced: they would fill the logs, or move the cursor of their readers. */
const REQUEST_ID = /^[!-~]{1,128}$/;
/** How long a response may be unread. */
const UNREAD_MS = 30_000;
const STALLED_MS = 1_000;
/** How long what a stream of events has sent may be unread once it has ended. */
const UNREAD_AFTER_EVENTS_MS = 5_000;

/** The errors of a caller who is a stranger. */
const REFUSALS: ReadonlySet<string> = new Set<keyof typeof PLATFORM_ERRORS>([
  'API_KEY_MISSING',
  'API_KEY_INVALID',
  'API_KEY_BANNED',
  'RATE_LIMITED',
  'OPERATOR_KEY_INVALID',
]);

/** How old streams may be. They end even when their callers have forgotten them. */
export interface MaxAges {
  readonly maxStreamMs: number;
  /** A stream of events is meant to be read for long. */
  readonly maxEventStreamMs: number;
}

/** What is known of a call when its headers have arrived. */
export type Arrival = Pick<Call, 'operation' | 'codec' | 'protocol' | 'source' | 'address'>;

/** Called just before each response. It may add response headers. */
export type BeforeResponse = (call: Call, error?: ApiError) => void;

export class IncomingCall implements Call {
  readonly operation: Operation;
  readonly codec: Codec;
  readonly protocol: Protocol;
  readonly address: string;
  readonly source: Source;
  readonly requestId: string;
  readonly responseHeaders = new Map<string, string>();
  caller?: Caller;
  isAdmitted?: true;
  isUnjudged?: true;
  isOperator?: true;
  ifMatch?: EntityTags;
  remember?: Remember;
  resumeAfter?: bigint;
  identify?: () => Identity | Promise<Identity>;
  readonly #exchange: Exchange;
  readonly #messages: MessageReader;
  readonly #headers: IncomingHttpHeaders;
  readonly #beforeResponse: BeforeResponse | undefined;
  readonly #startMs = performance.now();
  #request: Message | undefined;
  /** True while the deadline of the body counts. */
  #isReceiving = false;
  /** Why the call was given up, such as its deadline; undefined unless it was. */
  #reason: ApiError | undefined;
  /** Whether the headers of a stream have been sent. */
  #hasBegun = false;
  /** Whether it was refused for its key or its limits. */
  #isRefused = false;

  constructor(
    stream: ServerHttp2Stream,
    headers: IncomingHttpHeaders,
    { operation, codec, protocol, source, address }: Arrival,
    beforeResponse?: BeforeResponse,
  ) {
    this.#headers = headers;
    const { messages, timeoutMs, error } = protocol.open(headers);
    this.#messages = messages;
    const onExpired = () => this.giveUp(apiError('DEADLINE_EXCEEDED'));
    this.#exchange = new Exchange(stream, messages, timeoutMs, onExpired);
    this.#beforeResponse = beforeResponse;
    this.operation = operation;
    this.codec = codec;
    this.protocol = protocol;
    this.source = source;
    this.address = address;
    const requestId = this.header('x-request-id');
    this.requestId = requestId !== undefined && REQUEST_ID.test(requestId) ? requestId : randomUUID();
    if (error !== undefined) this.#exchange.failRead(error);
  }

  header(name: string): string | undefined {
    return this.#headers[name]?.toString();
  }

  get standing(): Standing | undefined {
    if (this.#isRefused) return 'refused';
    if (this.isAdmitted === true || this.isOperator === true) return 'admitted';
    return this.isUnjudged === true ? 'unjudged' : undefined;
  }

  get request(): Message {
    if (this.#request === undefined) throw new Error('the message has not been received');
    return this.#request;
  }

  isCancelled = (): boolean => this.#reason !== undefined || this.#exchange.isLate;

  onClose(listener: () => void): void {
    this.#exchange.onClose(listener);
  }

  async receive(inTurn?: InTurn): Promise<void> {
    const message = await this.#receiveOne();
    const read = () => {
      if (this.isCancelled()) throw apiError('DEADLINE_EXCEEDED'); // while it waited for its turn
      return readRequest(this.operation, message.decompress());
    };
    this.#request = inTurn === undefined ? read() : await inTurn(message.cost, read);
  }

  async #receiveOne() {
    this.#isReceiving = true;
    try {
      const message = await this.#exchange.read();
      if (message === undefined) throw unreadable('there is no message', Status.UNIMPLEMENTED);
      if ((await this.#exchange.read()) !== undefined)
        throw unreadable('there is more than one message', Status.UNIMPLEMENTED);
      return message;
    } finally {
      this.#isReceiving = false;
    }
  }

  boundMessages(maxBytes: number): void {
    this.#messages.maxBytes = maxBytes;
  }

  async *messages(): AsyncIterable<Buffer> {
    for (let next = await this.#exchange.read(); next !== undefined; next = await this.#exchange.read())
      yield next.decompress();
  }

  /** Called now and then: ends what has waited for the caller for too long. A stream has a maximum age. */
  checkAge({ maxStreamMs, maxEventStreamMs }: MaxAges): void {
    const ageMs = performance.now() - this.#startMs;
    const { isStream, isEventStream } = this.operation;
    this.#exchange.endStalled(isEventStream && this.#reason !== undefined ? UNREAD_AFTER_EVENTS_MS : UNREAD_MS);
    if (this.#isReceiving && ageMs > BODY_TIMEOUT_MS) this.#exchange.failRead(apiError('REQUEST_TIMEOUT'));
    if (isEventStream && ageMs > maxEventStreamMs) this.giveUp(apiError('UNAVAILABLE'));
    else if (isStream && !isEventStream && ageMs > maxStreamMs) this.giveUp(apiError('DEADLINE_EXCEEDED'));
  }

  /** True when the call has waited for its message, or for its caller to read, for longer than callers usually need. */
  get isStalled(): boolean {
    const receivingMs = this.#isReceiving ? performance.now() - this.#startMs : 0;
    return this.#reason === undefined && Math.max(receivingMs, this.#exchange.unreadMs) > STALLED_MS;
  }

  /** Gives the call up: its caller gets this error, and what it waits for ends. */
  giveUp(error: ApiError): void {
    if (this.#reason !== undefined) return;
    this.#reason = error;
    this.#exchange.failRead(error);
    // A stream of events ends between two of them, also for a reader who lags: he goes on after the last one.
    if (this.#exchange.unreadMs > STALLED_MS && !this.operation.isEventStream) this.#exchange.reset();
    else this.fail(error);
  }

  /** Responds with this. Rejects when it can't be encoded or sent; the caller may have got a part of a stream. */
  async respond(response: Response): Promise<void> {
    if ('messages' in response) return this.#stream(response);
    const rendered = this.protocol.render(this, response);
    this.#beforeResponse?.(this);
    this.#exchange.respond(rendered, this.responseHeaders);
  }

  /** The first message decides on the headers, so that an error before it is a whole response. */
  async #stream({ messages }: StreamResponse): Promise<void> {
    const { operation, codec } = this;
    const piece = (message: unknown) => this.protocol.piece({ operation, codec }, message);
    const encode = (message: unknown) =>
      message instanceof SharedMessages ? message.encode(this.protocol, piece) : piece(message);
    const begin = (first?: unknown) => {
      this.#hasBegun = true;
      const start = this.protocol.begin(this, first, encode);
      this.#beforeResponse?.(this);
      this.#exchange.begin(start, this.responseHeaders);
      return start;
    };
    for await (const message of messages) {
      const { body, isAll = false } = this.#hasBegun ? { body: encode(message) } : begin(message);
      if (isAll) break;
      if (body.length > 0 && !(await this.#exchange.send(body))) return;
    }
    if (!this.#hasBegun) begin();
    this.#exchange.finish();
  }

  /** How the call ended, with this error or with none. If it was given up before, that is how. */
  end(thrown: ApiError | undefined): End {
    const error = this.#reason ?? thrown;
    const hasLeft = this.#reason === undefined && this.#exchange.isClosed;
    const code = hasLeft ? Status.CANCELLED : (error?.grpcStatus ?? Status.OK);
    const isEndOfEventStream = this.operation.isEventStream && this.#hasBegun && error === this.#reason;
    return { code, error: isEndOfEventStream ? undefined : error, durationMs: performance.now() - this.#startMs };
  }

  /** Responds with an error. Never throws: an error that can't be sent resets the call, and is how it ended. */
  fail(error: ApiError): void {
    this.#isRefused = REFUSALS.has(error.code);
    try {
      this.#beforeResponse?.(this, error);
      this.#exchange.abort(this.protocol.renderError(this, error), this.responseHeaders, this.operation.isEventStream);
    } catch (cause) {
      this.#reason = apiError('INTERNAL', this, { cause });
      this.#exchange.reset();
    }
  }
}
