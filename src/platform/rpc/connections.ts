/**
 * Bounds strangers: connections to the server's own port on which neither an edge nor a valid key has called yet, or
 * whose last call was refused for its key or its limits. Bytes are cheap to send. 64 KB of them are 4,000 calls to
 * refuse, or 5,000 frames that are no call and that nothing else counts, and the event loop comes to nobody else before
 * it has read them. So a stranger may send little, and less while strangers together have sent much.
 */
import type { Http2Session } from 'node:http2';

/** How many there may be: one more ends the oldest of the address that has most. */
const MAX_OPEN = 1_000;
/** How many calls a connection may have open, but for an edge's. Node refuses more at once, malformed ones too. */
export const MAX_CALLS = 100;
/**
 * What a stranger may send within this time. A call counts as 10 KiB more. So `MAX_CALLS` at once leave room for as
 * many bytes as a connection's window has: the first calls of a caller whose key is being looked up.
 */
const [MAX_BYTES, WITHIN_MS] = [2_097_152, 10_000];
const BYTES_OF_CALL = 10_240;
/** While all together have sent more than this, each may send little: enough for the operator's command. */
const [MAX_BYTES_OF_ALL, FEW_BYTES] = [10_485_760, 65_536];
const SWEEP_MS = 20;

/** For HTTP/2 settings. */
export const UNLIMITED = 2 ** 32 - 1;

/**
 * `known`: its key has been found to be valid, or is the operator's. `refused`: it was refused for its key or for its
 * limits.
 */
export type Standing = 'known' | 'refused';

export interface CallOfStranger {
  /** Undefined while its key has not been judged, also when it ends before, and for a call that needs none. */
  readonly standing: Standing | undefined;
  onClose(listener: () => void): void;
}

interface Stranger {
  readonly address: string;
  readonly openCalls: Set<CallOfStranger>;
  /** The bytes that have come. */
  read: number;
  /** What counts of them and of calls. */
  spent: number;
}

export class Strangers {
  /** The oldest first. */
  readonly #open = new Map<Http2Session, Stranger>();
  readonly #known = new WeakSet<Http2Session>();
  #spentByAll = 0;
  #sinceMs = performance.now();
  /** Undefined while there are none. */
  #timer: NodeJS.Timeout | undefined;

  add(session: Http2Session): void {
    session.once('close', () => this.#open.delete(session));
    this.#begin(session);
  }

  #begin(session: Http2Session): void {
    const { remoteAddress: address = '', bytesRead: read } = session.socket;
    this.#open.set(session, { address, openCalls: new Set(), read, spent: 0 });
    if (this.#open.size > MAX_OPEN) this.#oldestOfMost()?.destroy();
    this.#timer ??= setInterval(() => this.#sweep(), SWEEP_MS).unref();
  }

  isKnown(session: Http2Session): boolean {
    return this.#known.has(session);
  }

  #oldestOfMost(): Http2Session | undefined {
    const ofAddresses = Map.groupBy(this.#open, ([, { address }]) => address).values();
    const [oldest] = ofAddresses.reduce((one, other) => (other.length > one.length ? other : one));
    return oldest?.[0];
  }

  /** It is no stranger any more. What it has sent counts for nobody. An edge forwards the calls of all. */
  know(session: Http2Session, isEdge = false): void {
    const stranger = this.#open.get(session);
    if (stranger === undefined) return;
    this.#open.delete(session);
    if (!isEdge) this.#known.add(session);
    this.#spentByAll = Math.max(0, this.#spentByAll - stranger.spent);
    if (isEdge && !session.destroyed) session.settings({ maxConcurrentStreams: UNLIMITED });
  }

  /** Whoever makes this call is a stranger, or none, by its key. */
  watch(session: Http2Session, call: CallOfStranger | undefined): void {
    const stranger = this.#open.get(session);
    if (call === undefined || (stranger === undefined && !this.#known.has(session))) return;
    stranger?.openCalls.add(call);
    call.onClose(() => {
      stranger?.openCalls.delete(call);
      const { standing } = call;
      if (standing === 'known') this.know(session);
      else if (standing === 'refused' && this.#known.delete(session) && !session.destroyed) this.#begin(session);
    });
  }

  /** Counts a call. Returns true if it is one too many. */
  isTooMany(session: Http2Session): boolean {
    return this.#spend(session, BYTES_OF_CALL);
  }

  #spend(session: Http2Session, bytes: number): boolean {
    const stranger = this.#open.get(session);
    if (stranger === undefined) return false;
    if (stranger.openCalls.values().some(({ standing }) => standing === 'known')) {
      this.know(session);
      return false;
    }
    stranger.spent += bytes;
    this.#spentByAll += bytes;
    return stranger.spent > (this.#spentByAll > MAX_BYTES_OF_ALL ? FEW_BYTES : MAX_BYTES);
  }

  #sweep(): void {
    const isNew = performance.now() - this.#sinceMs > WITHIN_MS;
    if (isNew) [this.#spentByAll, this.#sinceMs] = [0, performance.now()];
    for (const [session, stranger] of this.#open) {
      if (session.destroyed) continue; // it has no socket
      const { bytesRead } = session.socket;
      if (isNew) stranger.spent = 0;
      if (this.#spend(session, bytesRead - stranger.read)) session.destroy();
      stranger.read = bytesRead;
    }
    if (this.#open.size > 0) return;
    clearInterval(this.#timer);
    this.#timer = undefined;
  }
}
