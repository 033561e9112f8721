/**
 * Everything that callers have open on this server, from the headers of a call until its stream is closed: unary calls
 * and streams, with a key and without, waiting for a message or for a reader. One mechanism bounds all of it:
 *
 * - An address may have `MAX_PER_ADDRESS` calls open whose key is not known to be valid, and as many of each method
 *   that needs none. All together may have `MAX_PER_METHOD` of such: then a new one ends one of who has most.
 * - An account may have most of the slots (config/constants.ts) while it is alone, and an eighth of them while the
 *   server is crowded. Then a call of an account past its share is refused if there are others, and those of its calls
 *   end that wait for their caller. So nobody can keep slots by holding calls open.
 *
 * Streams of events, which wait nearly all of the time, are bounded apart: by account, with Redis over all servers.
 *
 * A sweep ends what waits for its caller for too long: a message, a reader, a forgotten stream. So no call needs timers
 * of its own.
 */
import { MAX_CALLS_PER_SERVER } from '../config/constants.ts';
import { TELL_STREAMS_MS } from '../config/times.ts';
import { type ApiError, AT_A_TIME, apiError, tooMany } from '../errors.ts';
import type { IncomingCall, MaxAges } from './call.ts';
import type { AccountId } from './caller.ts';
import type { Call } from './chain.ts';
import { ofWhoHasMost } from './who-has-most.ts';

export const MAX_PER_ADDRESS = 50;
/** Of a method that needs no key, over all addresses. Each takes some 10 KB. */
const MAX_PER_METHOD = 1_000;
/** The server is crowded when accounts have this many calls open. */
const CROWDED = (MAX_CALLS_PER_SERVER * 3) / 4;
const SHARE_OF_ALONE = (MAX_CALLS_PER_SERVER * 7) / 8;
const SHARE_OF_CROWDED = MAX_CALLS_PER_SERVER / 8;

const SWEEP_MS = 500;

const MAX_EVENT_STREAMS = 2_000;

/** How many calls are open: unary ones, streams, and apart from these the streams of events, which read the feed. */
export type OpenCounts = Readonly<Record<'unary' | 'stream' | 'feed', number>>;

export interface OpenCallsOptions extends MaxAges {
  readonly maxEventStreams: number;
  /** Tells other servers how many an account has here. False: over all servers they are more than `max`. */
  readonly countEventStreams: (accountId: AccountId, own: number, max: number) => boolean | Promise<boolean>;
}

export class OpenCalls {
  /** Not a set: one that changes keeps its old tables, with calls in them, until the next major garbage collection. */
  readonly #calls: IncomingCall[] = [];
  readonly #byAddress = new Counts<string>();
  readonly #byMethod = new Counts<string>();
  readonly #byAccount = new Counts<AccountId>();
  readonly #eventStreamsByAccount = new Counts<AccountId>();
  readonly #options: OpenCallsOptions;
  readonly #timers: readonly NodeJS.Timeout[];
  #isStopping = false;
  #isDraining = false;

  constructor(options: OpenCallsOptions) {
    this.#options = options;
    const sweep = () => {
      for (const call of this.#calls) {
        const { isEventStream } = call.operation;
        if (this.#isStopping && this.#endsOnStop(call)) call.giveUp(apiError('UNAVAILABLE'));
        call.checkAge(options);
        const account = isEventStream ? undefined : call.caller?.accountId; // it holds no slot
        if (account !== undefined && call.isStalled && this.#isPastShare(account)) call.giveUp(pastShare(account));
        if (call.identify !== undefined) void endUnlessValid(call, call.identify);
      }
    };
    const tell = () => {
      for (const account of this.#eventStreamsByAccount.keys()) this.#tellEventStreams(account);
    };
    this.#timers = [setInterval(sweep, SWEEP_MS).unref(), setInterval(tell, TELL_STREAMS_MS).unref()];
  }

  counts(): OpenCounts {
    let streams = 0;
    for (const call of this.#calls) if (call.operation.isStream) streams += 1;
    const feed = this.#eventStreamsByAccount.total;
    return { unary: this.#calls.length - streams, stream: streams - feed, feed };
  }

  add(call: IncomingCall): void {
    this.#calls.push(call);
    call.onClose(() => this.#calls.splice(this.#calls.indexOf(call), 1));
  }

  /**
   * Counts a call against its address until it is closed or released. `what` has a share of its own: watches use up
   * nothing that key look-ups or health checks need. Throws RATE_LIMITED past the share, UNAVAILABLE past that of all.
   */
  holdForAddress(call: Call, what: string): () => void {
    if (call.source === 'edge') return () => undefined; // Envoy's health checks, which nobody's calls may keep out
    const holder = `${what} ${call.address}`;
    const needsKey = what !== call.operation.path;
    if (!needsKey && this.#byMethod.of(what) >= MAX_PER_METHOD && !this.#endOneOfMost(what, call.address))
      throw apiError('UNAVAILABLE');
    if (this.#byAddress.of(holder) < MAX_PER_ADDRESS) {
      if (!needsKey) this.#byMethod.hold(what, call); // a refusal takes nothing of it, however long it is unread
      return this.#byAddress.hold(holder, call);
    }
    if (this.#isRepeated(call)) return () => undefined;
    throw tooMany(MAX_PER_ADDRESS, AT_A_TIME, `address:${call.address}`);
  }

  /** Ends the oldest call of a method of the address that has most of them. Returns false if that is this address. */
  #endOneOfMost(path: string, address: string): boolean {
    const all = this.#calls.filter((call) => call.operation.path === path && !call.isCancelled());
    const most = ofWhoHasMost(all, (call) => call.address);
    if (most.length <= all.filter((call) => call.address === address).length) return false;
    most[0]?.giveUp(apiError('UNAVAILABLE'));
    return true;
  }

  /** True for a request that the edge has sent here twice: its caller must not get the refusal of the second. */
  #isRepeated({ source, requestId }: Call): boolean {
    if (source !== 'forwarded') return false;
    return this.#calls.filter((call) => call.source === source && call.requestId === requestId).length > 1;
  }

  /**
   * Counts a call against the account of its caller until it is closed. Throws TOO_MANY_STREAMS for a stream of events
   * too many; RATE_LIMITED past the share of a crowded server, UNAVAILABLE past that of an account that is alone.
   */
  holdForAccount(call: Call, account: AccountId): void | Promise<void> {
    if (call.operation.isEventStream) return this.#holdEventStream(call, account);
    const held = this.#byAccount.of(account);
    if (held >= SHARE_OF_CROWDED && this.#isRepeated(call)) return;
    if (this.#isCrowded && this.#byAccount.size > 1 && held >= SHARE_OF_CROWDED) throw pastShare(account);
    if (held >= SHARE_OF_ALONE) throw apiError('UNAVAILABLE');
    this.#byAccount.hold(account, call);
  }

  async #holdEventStream(call: Call, account: AccountId): Promise<void> {
    const [streams, max] = [this.#eventStreamsByAccount, this.#options.maxEventStreams];
    const tooManyStreams = () => apiError('TOO_MANY_STREAMS', { streams: max });
    if (streams.of(account) >= max) throw tooManyStreams();
    if (this.#isStopping || streams.total >= MAX_EVENT_STREAMS) throw apiError('UNAVAILABLE');
    const release = streams.hold(account, call);
    if (await this.#options.countEventStreams(account, streams.of(account), max)) {
      call.onClose(() => this.#tellEventStreams(account));
      return;
    }
    release();
    throw tooManyStreams();
  }

  #tellEventStreams(account: AccountId): void {
    const own = this.#eventStreamsByAccount.of(account);
    void this.#options.countEventStreams(account, own, Number.MAX_SAFE_INTEGER);
  }

  /**
   * From now on streams of events end, with UNAVAILABLE, and what anybody may leave open without a key: Envoy's drain
   * and this server's would wait for it. Everything else goes on.
   */
  endEventStreams(): void {
    this.#isStopping = true;
  }

  #endsOnStop({ operation: { isEventStream, isRaw, isStream }, standing, isStalled }: IncomingCall): boolean {
    if (isEventStream) return true;
    if (isRaw) return false; // a file is sent to its end
    return isStream ? this.#isDraining || standing !== 'admitted' : isStalled && standing !== 'admitted';
  }

  /** From now on all streams end that have no end of their own, with UNAVAILABLE. */
  drain(): void {
    this.endEventStreams();
    this.#isDraining = true;
  }

  close(): void {
    for (const timer of this.#timers) clearInterval(timer);
  }

  get #isCrowded(): boolean {
    return this.#byAccount.total >= CROWDED;
  }

  #isPastShare(account: AccountId): boolean {
    return this.#isCrowded && this.#byAccount.of(account) > SHARE_OF_CROWDED;
  }
}

/** Ends a stream of events whose key has been revoked or has expired, or whose account is suspended. */
async function endUnlessValid(call: IncomingCall, identify: NonNullable<IncomingCall['identify']>): Promise<void> {
  try {
    if (typeof (await identify()) !== 'object') call.giveUp(apiError('UNAVAILABLE'));
  } catch {
    // The key can't be looked up now.
  }
}

function pastShare(account: AccountId): ApiError {
  return tooMany(SHARE_OF_CROWDED, AT_A_TIME, `account:${account}`);
}

/** Counts open calls by a key. A key without open calls takes no memory. */
class Counts<K> {
  readonly #counts = new Map<K, number>();
  total = 0;

  get size(): number {
    return this.#counts.size;
  }

  keys(): Iterable<K> {
    return this.#counts.keys();
  }

  of(key: K): number {
    return this.#counts.get(key) ?? 0;
  }

  /** Counts the call until it is closed, or released by the function that is returned. */
  hold(key: K, call: Call): () => void {
    let isHeld = true;
    this.#counts.set(key, this.of(key) + 1);
    this.total += 1;
    const release = () => {
      if (!isHeld) return;
      isHeld = false;
      const count = this.of(key) - 1;
      if (count > 0) this.#counts.set(key, count);
      else this.#counts.delete(key);
      this.total -= 1;
    };
    call.onClose(release);
    return release;
  }
}
