/**
 * The answer to a call: the one object that writes to the caller. It owns grpc-js's call and the HTTP/2 stream below
 * it, from the headers to the end. No other file touches them.
 *
 * | state       | what has been sent          | respond, begin | send     | finish   | abort    | expired          |
 * |-------------|-----------------------------|----------------|----------|----------|----------|------------------|
 * | `open`      | nothing                     | sends          | -        | -        | answers  | `events.expired` |
 * | `streaming` | headers, perhaps messages   | -              | sends    | ends     | ends     | `events.expired` |
 * | `ending`    | everything; may be unread   | -              | -        | -        | -        | resets           |
 * | `closed`    | the stream is gone          | -              | -        | -        | -        | -                |
 *
 * "-" does nothing. The stream closes in every state: the caller leaves, the session or a write fails, or everything
 * has been read. Then the state is `closed`, and `events.closed` is called, once. Whoever waits for `send` learns it.
 *
 * A call that has been answered leaves nothing: what the caller still sends is discarded, since Node never destroys a
 * stream with data that nobody reads. A caller who has not sent everything ends the stream himself when he has the
 * answer, as Envoy does. One who does not is told to stop a second later (RST_STREAM with NO_ERROR; RFC 9113, section
 * 8.1): at once would be too early for clients that then take the answer for lost.
 */
import { constants, type Http2Session, type ServerHttp2Stream, type ServerStreamResponseOptions } from 'node:http2';
import { Metadata, type ServerInterceptingCallInterface, status as Status } from '@grpc/grpc-js';
import type { Answer as Content, HttpResponse, StreamStart } from '../interceptors/protocol.ts';
import { type BaseCall, privateParts, STOP_MS } from './private-parts.ts';

type PartialStatus = Parameters<ServerInterceptingCallInterface['sendStatus']>[0];
type Headers = ReadonlyMap<string, string>;

/** What happens to a call from outside. */
export interface CallEvents {
  /** The next message, after `read`. */
  message(bytes: Buffer): void;
  /** The caller has sent everything. */
  halfClose(): void;
  /** The request can't be read: grpc-js would end the call with this status. */
  malformed(status: PartialStatus): void;
  /** The deadline has passed. */
  expired(): void;
  /** The stream is closed. */
  closed(): void;
}

/** Gets the metadata of a call's request, and returns what follows the events of the call. */
export type OpenCall = (answer: Answer, metadata: Metadata) => CallEvents;

const OK: PartialStatus = { code: Status.OK, details: 'OK', metadata: null };

export class Answer {
  #state: 'open' | 'streaming' | 'ending' | 'closed' = 'open';
  readonly #base: BaseCall;
  readonly #stream: ServerHttp2Stream;
  /** The original method of `#base`. From the constructor on only grpc-js itself calls the replacement. */
  readonly #sendStatus: BaseCall['sendStatus'];
  #events: CallEvents | undefined;
  /** True when the stream has plain HTTP on it. */
  #isHttp = false;
  /** True when the whole request has been read. */
  #isRequestRead = false;
  /** Settles the `send` in progress. */
  #sent: ((isSent: boolean) => void) | undefined;
  /** Since when the caller has not read what was sent, by `performance.now()`. */
  #unreadSinceMs: number | undefined;

  constructor(call: ServerInterceptingCallInterface) {
    this.#base = privateParts(call);
    this.#stream = this.#base.stream;
    this.#sendStatus = this.#base.sendStatus.bind(call);
    this.#base.sendStatus = (status) => this.#onStatus(status);
    this.#stream.once('close', () => this.#onClose());
  }

  start(open: OpenCall): void {
    this.#base.start({
      onReceiveMetadata: (metadata) => {
        try {
          this.#events = open(this, metadata);
        } catch {
          this.reset(); // grpc-js would let the error end the process
        }
      },
      onReceiveMessage: (bytes: Buffer) => this.#events?.message(bytes),
      onReceiveHalfClose: () => {
        this.#isRequestRead = true;
        this.#events?.halfClose();
      },
      onCancel: () => undefined, // `close` of the stream tells
    });
  }

  get isClosed(): boolean {
    return this.#state === 'closed';
  }

  get deadlineMs(): number {
    return Number(this.#base.getDeadline());
  }

  peer(): string {
    return this.#base.getPeer();
  }

  /** The connection; undefined once it is gone. */
  get session(): Http2Session | undefined {
    return this.#stream.session;
  }

  /** Reads the next message. */
  read(): void {
    this.#base.startRead();
  }

  /**
   * Answers with the whole response, and these headers. Headers, body and status leave in one write.
   *
   * @throws TypeError for a header that is invalid in HTTP. The call is reset then.
   */
  respond(content: Content, headers: Headers): void {
    if (this.#state !== 'open') return;
    switch (content.kind) {
      case 'http':
        this.#respondHttp(content.http, headers, true);
        return;
      case 'message':
        this.#guarded(() => {
          this.#base.sendMetadata(new ResponseMetadata(headers));
          this.#base.sendMessage(content.bytes, () => undefined);
          this.#endGrpc(OK);
        });
        return;
      case 'status':
        this.#guarded(() => this.#endGrpc(content.status));
    }
  }

  /**
   * Begins a stream with these headers.
   *
   * @throws TypeError for a header that is invalid in HTTP. The call is reset then.
   */
  begin(start: StreamStart, headers: Headers): void {
    if (this.#state !== 'open') return;
    this.#state = 'streaming';
    if (start.kind === 'http') this.#respondHttp(start.http, headers, false);
    else this.#guarded(() => this.#base.sendMetadata(new ResponseMetadata(headers)));
  }

  /** Sends bytes of a stream. Resolves with true when they are on their way, false when nobody will read them. */
  send(bytes: Buffer): Promise<boolean> {
    if (this.#state !== 'streaming') return Promise.resolve(false);
    const { promise, resolve } = Promise.withResolvers<boolean>();
    this.#sent = resolve;
    this.#unreadSinceMs = performance.now();
    const onSent = () => {
      this.#unreadSinceMs = undefined;
      this.#settle(true);
    };
    if (this.#isHttp) this.#stream.write(bytes, (error) => (error ? undefined : onSent()));
    else this.#base.sendMessage(bytes, onSent);
    return promise;
  }

  /** Ends a stream that is complete. */
  finish(): void {
    if (this.#state !== 'streaming') return;
    if (this.#isHttp) {
      this.#stream.end();
      this.#endHttp();
    } else this.#endGrpc(OK);
  }

  /**
   * Ends the call with an error. A stream over plain HTTP that has begun is reset: its caller must not take it for
   * complete.
   */
  abort(content: Content, headers: Headers): void {
    if (this.#state === 'open') this.respond(content, headers);
    else if (this.#state !== 'streaming') return;
    else if (this.#isHttp || content.kind !== 'status') this.reset();
    else this.#endGrpc(content.status);
  }

  /**
   * Ends the stream at once, whatever is unread. The caller sees an error: `close` would send the end of the body
   * first, as if it were complete.
   */
  reset(): void {
    if (this.#state === 'closed') return;
    this.#state = 'ending';
    this.#stream.destroy(new Error('the answer was given up'));
  }

  /** For how long the caller has not read all that was sent; 0 when he has. */
  get unreadMs(): number {
    return this.#unreadSinceMs === undefined ? 0 : performance.now() - this.#unreadSinceMs;
  }

  /** Ends what waits for the caller for too long: to read, for `maxUnreadMs`, or to stop sending after the answer. */
  endStalled(maxUnreadMs: number): void {
    if (this.unreadMs > maxUnreadMs) this.reset();
    else if (this.unreadMs > STOP_MS && !this.#isRequestRead && this.#stream.writableFinished) {
      this.#stream.close(constants.NGHTTP2_NO_ERROR);
    }
  }

  #respondHttp({ status, headers, body }: HttpResponse, moreHeaders: Headers, isWhole: boolean): void {
    const rawHeaders = [':status', String(status)];
    for (const [name, value] of moreHeaders) if (!(name in headers)) rawHeaders.push(name, value);
    for (const [name, value] of Object.entries(headers)) rawHeaders.push(name, value);
    const endStream = isWhole && body.length === 0;
    const options: ServerStreamResponseOptions & { readonly sendDate: boolean } = {
      endStream,
      sendDate: false, // Envoy adds it
    };
    this.#isHttp = true;
    this.#guarded(() => {
      this.#stream.respond(rawHeaders, options);
      if (!isWhole) return;
      if (!endStream) this.#stream.end(body);
      this.#endHttp();
    });
  }

  /** What can't be sent must not leave a call without an end. */
  #guarded(send: () => void): void {
    if (this.#stream.destroyed || this.#stream.closed) {
      this.#endHttp(); // the caller has left: what is unread keeps the stream
      return;
    }
    try {
      send();
    } catch (error) {
      this.reset();
      throw error;
    }
  }

  #endGrpc(status: PartialStatus): void {
    this.#becomeEnding();
    this.#sendStatus(status);
  }

  #endHttp(): void {
    this.#becomeEnding();
    this.#base.notifyOnCancel(); // grpc-js does so itself after a status
  }

  #becomeEnding(): void {
    if (this.#state !== 'closed') this.#state = 'ending';
    this.#unreadSinceMs = performance.now();
  }

  /**
   * grpc-js would end the call: because of a bad message, because the deadline has passed, or because a write failed.
   */
  #onStatus(status: PartialStatus): void {
    if (this.#state === 'closed' || this.#stream.destroyed) return;
    if (this.#state === 'ending') this.reset();
    else if (status.code === Status.DEADLINE_EXCEEDED) this.#events?.expired();
    else this.#events?.malformed(status);
  }

  #onClose(): void {
    this.#state = 'closed';
    this.#settle(false);
    this.#events?.closed();
    // Node keeps the stream until the next major garbage collection; its listeners would keep the whole call.
    this.#stream.removeAllListeners();
  }

  #settle(isSent: boolean): void {
    this.#sent?.(isSent);
    this.#sent = undefined;
  }
}

/** Valid headers, sent as they are: without the copies and checks of `Metadata.set`. */
class ResponseMetadata extends Metadata {
  readonly #headers: Headers;

  constructor(headers: Headers) {
    super();
    this.#headers = headers;
  }

  override toHttp2Headers(): ReturnType<Metadata['toHttp2Headers']> {
    return Object.fromEntries(this.#headers);
  }
}
