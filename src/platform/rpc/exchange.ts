/**
 * The exchange of a call: the one object that owns its HTTP/2 stream, from the headers to the end. It lets the messages
 * of the request in, one at a time, and it alone writes to the caller. Every response, a gRPC message too, is headers,
 * bytes and perhaps trailers on the stream.
 *
 * | state       | what has been sent          | respond, begin | send     | finish   | abort    | deadline    |
 * |-------------|-----------------------------|----------------|----------|----------|----------|-------------|
 * | `open`      | nothing                     | sends          | -        | -        | responds | `onExpired` |
 * | `streaming` | headers, perhaps messages   | -              | sends    | ends     | ends     | `onExpired` |
 * | `ending`    | everything; may be unread   | -              | -        | -        | -        | -           |
 * | `closed`    | the stream is gone          | -              | -        | -        | -        | -           |
 *
 * "-" does nothing. The stream closes in every state: the caller leaves, the session or a write fails, or everything
 * has been read. Then the state is `closed`, and whoever waits for `read`, `send` or `onClose` learns it.
 *
 * A call that has its response leaves nothing: what the caller still sends is discarded, since Node never destroys a
 * stream with data that nobody reads. A caller who has not sent everything ends the stream himself when he has the
 * response, as Envoy does. One who does not is told to stop a second later (RST_STREAM with NO_ERROR; RFC 9113, section
 * 8.1): at once would be too early for clients that then take the response for lost. Only who sends `MAX_FRAMES` is
 * told at once.
 */
import { constants, type ServerHttp2Stream } from 'node:http2';
import { MAX_FRAMES } from '../config/constants.ts';
import { apiError } from '../errors.ts';
import type { HttpResponse, MessageReader, ReceivedMessage, StreamStart } from './chain.ts';
import { unreadable } from './errors.ts';

/** How long a caller who has the response may go on sending. */
const STOP_MS = 1_000;
/** Node takes a longer time for none: 25 days. */
const MAX_TIMER_MS = 2 ** 31 - 1;

export class Exchange {
  readonly #deadlineMs: number;
  readonly #deadlineTimer: NodeJS.Timeout | undefined;
  #state: 'open' | 'streaming' | 'ending' | 'closed' = 'open';
  readonly #stream: ServerHttp2Stream;
  readonly #messages: MessageReader;
  /** Settles the read in progress. */
  #reading: PromiseWithResolvers<ReceivedMessage | undefined> | undefined;
  /** An error in the request, found while nothing was being read. */
  #earlyError: unknown;
  #closeListeners: (() => void)[] = [];
  #trailers: HttpResponse['trailers'];
  #frames = 0;
  /** Settles the `send` in progress. */
  #sent: ((isSent: boolean) => void) | undefined;
  /** Since when the caller has not read what was sent, by `performance.now()`. */
  #unreadSinceMs: number | undefined;

  /** Calls `onExpired` when the deadline passes, in a later turn: first the caller is judged. Infinity means none. */
  constructor(stream: ServerHttp2Stream, messages: MessageReader, timeoutMs: number, onExpired: () => void) {
    this.#stream = stream;
    this.#messages = messages;
    this.#deadlineMs = performance.now() + timeoutMs;
    const onTimer = () => this.#isOver || onExpired();
    // No call is open for as long as a timer can't wait.
    if (timeoutMs <= MAX_TIMER_MS) this.#deadlineTimer = setTimeout(onTimer, timeoutMs);
    stream.once('close', () => this.#onClose());
  }

  get isClosed(): boolean {
    return this.#state === 'closed';
  }

  /** True when nobody waits for the response any more. The clock tells: a busy event loop runs a timer late. */
  get isLate(): boolean {
    return this.isClosed || performance.now() >= this.#deadlineMs;
  }

  onClose(listener: () => void): void {
    if (this.isClosed) listener();
    else this.#closeListeners.push(listener);
  }

  /** Reads the next message; undefined when the caller has sent everything. */
  read(): Promise<ReceivedMessage | undefined> {
    if (this.#earlyError !== undefined) return Promise.reject(this.#earlyError);
    if (this.isLate) return Promise.reject(apiError('DEADLINE_EXCEEDED'));
    const reading = Promise.withResolvers<ReceivedMessage | undefined>();
    this.#reading = reading;
    this.#takeMessage(); // perhaps at once
    return reading.promise;
  }

  /** Ends the read in progress, or else the next one. */
  failRead(error: unknown): void {
    if (this.#reading === undefined) this.#earlyError ??= error;
    else this.#reading.reject(error);
    this.#reading = undefined;
  }

  /** Responds with this, and these headers too. @throws TypeError for an invalid header; the call is reset then. */
  respond(response: HttpResponse, headers: ReadonlyMap<string, string>): void {
    if (this.#state !== 'open') return;
    const { body, trailers } = response;
    const isAll = body.length === 0;
    const withTrailers = isAll ? { ...response, headers: { ...response.headers, ...trailers } } : response;
    this.#sendHeaders(withTrailers, headers, isAll);
    this.#end(isAll ? undefined : body); // to Envoy, frames without bytes are an attack
  }

  /** Begins a stream with its headers and these; `finish` sends its trailers. @throws TypeError as `respond` does. */
  begin(start: StreamStart, headers: ReadonlyMap<string, string>): void {
    if (this.#state !== 'open') return;
    this.#state = 'streaming';
    this.#sendHeaders(start, headers, false);
  }

  /** Sends bytes of a stream. Resolves with true when they are on their way, false when nobody will read them. */
  send(bytes: Buffer): Promise<boolean> {
    if (this.#state !== 'streaming') return Promise.resolve(false);
    const { promise, resolve } = Promise.withResolvers<boolean>();
    this.#sent = resolve;
    this.#unreadSinceMs = performance.now();
    this.#stream.write(bytes, (error) => {
      if (error) return; // the stream closes
      if (this.#state === 'streaming') this.#unreadSinceMs = undefined; // else the end is unread
      this.#settle(true);
    });
    return promise;
  }

  finish(): void {
    if (this.#state === 'streaming') this.#end();
  }

  /**
   * Ends the call with an error. A stream that has begun without trailers is reset, since its caller must not take it
   * for complete. A stream of events just ends: its caller knows how to go on.
   */
  abort(response: HttpResponse, headers: ReadonlyMap<string, string>, isEventStream: boolean): void {
    if (this.#state === 'open') this.respond(response, headers);
    if (this.#state !== 'streaming') return;
    const hasTrailers = this.#trailers !== undefined && response.trailers !== undefined;
    if (hasTrailers) this.#trailers = response.trailers;
    if (hasTrailers || isEventStream) this.#end();
    else this.reset();
  }

  /** Ends the stream at once, with an error: `close` would send the end of the body first, as if it were complete. */
  reset(): void {
    if (this.#state === 'closed') return;
    this.#state = 'ending';
    this.#stream.destroy(new Error('the response was given up'));
  }

  /** For how long the caller has not read all that was sent; 0 when he has. */
  get unreadMs(): number {
    return this.#unreadSinceMs === undefined ? 0 : performance.now() - this.#unreadSinceMs;
  }

  /** Ends what waits for the caller for too long: to read, for `maxUnreadMs`, or to stop sending after the response. */
  endStalled(maxUnreadMs: number): void {
    if (this.unreadMs > maxUnreadMs) this.reset();
    else if (this.unreadMs > STOP_MS && !this.#stream.readableEnded && this.#stream.writableFinished) {
      this.#stream.close(constants.NGHTTP2_NO_ERROR);
    }
  }

  /** What can't be sent must not leave a call without an end. */
  #sendHeaders(response: StreamStart | HttpResponse, more: ReadonlyMap<string, string>, isAll: boolean): void {
    if (this.#isGone) {
      this.#end(); // what is unread would keep the stream
      return;
    }
    const { status, headers, trailers } = response;
    const rawHeaders = [':status', String(status)];
    more.forEach((value, name) => {
      if (!(name in headers)) rawHeaders.push(name, value);
    });
    for (const [name, value] of Object.entries(headers)) rawHeaders.push(name, value);
    this.#trailers = trailers;
    const waitForTrailers = trailers !== undefined && !isAll;
    if (waitForTrailers) this.#stream.once('wantTrailers', () => this.#stream.sendTrailers({ ...this.#trailers }));
    const options = { endStream: isAll, waitForTrailers, sendDate: false }; // Envoy adds the date
    try {
      this.#stream.respond(rawHeaders, options);
    } catch (error) {
      this.reset();
      throw error;
    }
  }

  /** Everything has been said. What the caller still sends is discarded, and its deadline is over. */
  #end(rest?: string | Buffer): void {
    this.#state = 'ending';
    this.#unreadSinceMs = performance.now();
    if (!this.#isGone && !this.#stream.writableEnded) this.#stream.end(rest);
    if (this.#trailers === undefined) destroyWithoutTrace(this.#stream);
    this.#letIn();
    clearTimeout(this.#deadlineTimer);
  }

  /** True when the caller has left, perhaps before `close`. */
  get #isGone(): boolean {
    return this.#stream.destroyed || this.#stream.closed;
  }

  /** True when nothing can be sent any more. */
  get #isOver(): boolean {
    return this.#state === 'ending' || this.#state === 'closed' || this.#stream.destroyed;
  }

  /** Lets the caller send: before, nothing of the body is read. */
  #letIn(): void {
    if (this.#stream.readableFlowing !== null) this.#stream.resume();
    else this.#stream.on('data', (frame: Buffer) => this.#onFrame(frame)).on('end', () => this.#takeMessage());
  }

  #takeMessage(): void {
    if (this.#reading === undefined || this.#isOver) return;
    try {
      const message = this.#messages.next(this.#stream.readableEnded);
      if (message === undefined && !this.#stream.readableEnded) this.#letIn();
      else {
        this.#reading.resolve(message);
        this.#reading = undefined;
      }
    } catch (error) {
      this.failRead(error);
    }
  }

  /** Too many make the request malformed, and end the stream after the response that says so. */
  #onFrame(frame: Buffer): void {
    this.#frames += 1;
    if (!this.#isOver) {
      this.#messages.add(frame);
      if (this.#frames === MAX_FRAMES) this.failRead(unreadable(`it has ${MAX_FRAMES} frames`));
      else if (this.#reading !== undefined) this.#takeMessage();
      else this.#stream.pause();
    } else if (this.#frames >= MAX_FRAMES && this.#state === 'ending') {
      this.#frames = Number.NEGATIVE_INFINITY;
      setImmediate(() => this.#stream.close(constants.NGHTTP2_NO_ERROR)); // at once, the response would not be sent
    }
  }

  #onClose(): void {
    this.#state = 'closed';
    clearTimeout(this.#deadlineTimer);
    this.#settle(false);
    // Every call ends here, and an error costs a stack trace: none when nothing is being read.
    if (this.#reading !== undefined) this.failRead(apiError('DEADLINE_EXCEEDED'));
    for (const listener of this.#closeListeners) listener();
    // Node keeps the stream until the next major garbage collection. It must not keep the whole call.
    this.#stream.removeAllListeners();
    this.#closeListeners = [];
  }

  #settle(isSent: boolean): void {
    this.#sent?.(isSent);
    this.#sent = undefined;
  }
}

/**
 * Without trailers a stream closes before Node hears that its last bytes are written. Node makes an error of that,
 * which nobody gets; its stack trace cost each response over REST 4 % of the server's time.
 */
function destroyWithoutTrace(stream: ServerHttp2Stream): void {
  const { destroy } = stream;
  stream.destroy = (error?: Error) => {
    const { stackTraceLimit } = Error;
    Error.stackTraceLimit = 0;
    try {
      return destroy.call(stream, error);
    } finally {
      Error.stackTraceLimit = stackTraceLimit;
    }
  };
}
