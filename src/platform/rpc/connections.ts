/**
 * The connections to the server's own port, and the bounds of those that are no edge's. Bytes are cheap to send. 64 KB
 * of them are 4,000 calls to refuse, or 5,000 frames that are no call and that nothing else counts, and the event loop
 * comes to nobody else before it has read them. So each may send little but for calls that are admitted. Least may
 * strangers: connections on which no valid key has called yet, or whose last call was refused for its key or its
 * limits. They may send less still while strangers together have sent much.
 *
 * What is bounded ends by its socket. A session that is only closed or destroyed stays for as long as its peer reads
 * nothing, or keeps its end open.
 */
import type { Http2Session } from 'node:http2';
import type { Socket } from 'node:net';
import { MAX_BODY_BYTES } from '../config/constants.ts';
import { addressOf } from './address.ts';
import type { Caller } from './caller.ts';
import { ofWhoHasMost } from './who-has-most.ts';

/** How many strangers there may be, and how many others: one more ends one of who has most, the oldest idle one. */
const MAX_OPEN = 1_000;
/**
 * How many connections an address may have that were never more than strangers, and of these without calls. The event
 * loop reads what all of them have sent before it comes to others: 64 KB from each of 900 took it five seconds.
 */
const [MAX_NEW, MAX_NEW_IDLE] = [128, 32];
/** How many calls a connection may have open, but for an edge's. Node refuses more at once, malformed ones too. */
export const MAX_CALLS = 100;
/**
 * What a stranger may send within this time, beside the windows of the calls that have not been judged: the first ones
 * of a caller whose key is being looked up. A call counts as 10 KiB more.
 */
const [MAX_BYTES, WITHIN_MS] = [2_097_152, 10_000];
const BYTES_OF_CALL = 10_240;
/**
 * What another may send beside its calls, and for each that is admitted: its message, frames and headers. Of calls that
 * need no key, or are not judged, it has as many as a stranger.
 */
const [BESIDE_CALLS, BYTES_OF_ADMITTED] = [524_288, 1.5 * MAX_BODY_BYTES];
const BYTES_BY_KIND = { edge: 0, known: BYTES_OF_CALL / 4, stranger: BYTES_OF_CALL };
/** While all strangers have sent more than this, each may send little: enough for the operator's command. */
const [MAX_BYTES_OF_ALL, FEW_BYTES] = [10_485_760, 65_536];
const SWEEP_MS = 20;
const CHECK_MS = 1_000;
/** How long one stays open without calls, and then until its peer has closed it too. */
const [IDLE_MS, CLOSING_MS] = [10_000, 1_000];
/**
 * After so many checks without a byte the peer is asked whether it is there, and after as many more it is not. Its
 * system may have died, or a network in between may have forgotten it: TCP alone would find out after 15 minutes.
 */
const SILENT_CHECKS = 20;
/** How long a peer may read nothing of what is being sent. */
const UNREAD_MS = 30_000;

/** For HTTP/2 settings. */
export const UNLIMITED = 2 ** 32 - 1;

/**
 * `admitted`: its key is valid and its limits have let it in, or it is the operator's. `refused`: for one of these.
 * `unjudged`: its key could not be looked up.
 */
export type Standing = 'admitted' | 'refused' | 'unjudged';

export interface CallOfConnection {
  readonly caller?: Pick<Caller, 'accountId'>;
  /** Undefined before it is known, for a call that ends before, and for one that needs no key. */
  readonly standing: Standing | undefined;
  onClose(listener: () => void): void;
}

interface Connection {
  readonly session: Http2Session;
  readonly socket: Socket;
  readonly openCalls: Set<CallOfConnection>;
  readonly address: string;
  /** `edge` forwards the calls of all. */
  is: 'edge' | 'known' | 'stranger';
  /** Whom it counts for: the address of a stranger, another's account. */
  owner: string;
  /** The bytes that have come. */
  read: number;
  /** What counts of them and of calls. */
  spent: number;
  /** Whether it has been more than a stranger. */
  wasKnown: boolean;
  usedAtMs: number;
  /** The bytes that had come at the last check, and for how many checks they have been as many. */
  heard: number;
  silentChecks: number;
  /** What its socket has yet to send, and since when it is as much. */
  unsent: number;
  unsentSinceMs: number;
}

export class Connections {
  /** The oldest first, but those that have become strangers again are new. */
  readonly #open = new Map<Http2Session, Connection>();
  readonly #counts = { edge: 0, known: 0, stranger: 0 };
  #spentByStrangers = 0;
  #sinceMs = performance.now();
  /** Undefined while there are none but edges. */
  #sweeping: NodeJS.Timeout | undefined;
  /** Undefined while there are none. */
  #checking: NodeJS.Timeout | undefined;

  /** `socket` is the one below the session. */
  add(session: Http2Session, socket: Socket): void {
    const address = addressOf(undefined, () => socket.remoteAddress ?? '');
    const now = performance.now();
    const state = {
      read: socket.bytesRead,
      spent: 0,
      wasKnown: false,
      usedAtMs: now,
      heard: 0,
      silentChecks: 0,
      unsent: 0,
      unsentSinceMs: now,
    };
    this.#keep({ session, socket, openCalls: new Set(), address, is: 'stranger', owner: address, ...state });
    socket.once('close', () => this.#remove(session));
    this.#checking ??= setInterval(() => this.#check(), CHECK_MS).unref();
    if (this.#sweeping !== undefined) return;
    [this.#spentByStrangers, this.#sinceMs] = [0, now];
    this.#sweeping = setInterval(() => this.#sweep(), SWEEP_MS).unref();
  }

  /** An edge forwards the calls of all: it has no bounds. */
  trust(session: Http2Session): void {
    const connection = this.#open.get(session);
    if (connection === undefined || connection.is === 'edge') return;
    this.#become(connection, 'edge');
    if (!session.destroyed) session.settings({ maxConcurrentStreams: UNLIMITED });
  }

  /** Undefined for one that has ended. What it was at last stays in what this returned before. */
  of(session: Http2Session): Readonly<Pick<Connection, 'is' | 'owner'>> | undefined {
    return this.#open.get(session);
  }

  /** Ends it, whatever its peer does. */
  end(session: Http2Session): void {
    const connection = this.#remove(session);
    session.destroy();
    connection?.socket.destroy();
  }

  endAll(): void {
    for (const session of [...this.#open.keys()]) this.end(session);
  }

  /** What the connection may do follows from how this call ends. */
  watch(session: Http2Session, call: CallOfConnection | undefined): void {
    const connection = this.#open.get(session);
    if (call === undefined || connection === undefined || connection.is === 'edge') return;
    connection.openCalls.add(call);
    call.onClose(() => {
      connection.openCalls.delete(call);
      connection.usedAtMs = performance.now();
      const { standing } = call;
      if (standing === 'admitted') {
        if (connection.is === 'stranger') this.#know(connection, call);
        else connection.spent = Math.max(0, connection.spent - BYTES_OF_ADMITTED);
      } else if (standing === 'unjudged' && connection.is === 'known') {
        connection.spent = Math.max(0, connection.spent - BYTES_BY_KIND.known); // no fault of its caller
      } else if (standing === 'refused' && connection.is === 'known') this.#become(connection, 'stranger');
      else if (connection.is === 'stranger') this.#boundNew(connection);
    });
  }

  /** Counts a call. Returns true if it is one too many. */
  isTooMany(session: Http2Session): boolean {
    const connection = this.#open.get(session);
    return connection !== undefined && this.#spend(connection, BYTES_BY_KIND[connection.is]);
  }

  #become(connection: Connection, is: Connection['is'], owner = connection.address): void {
    if (connection.is === 'stranger') this.#spentByStrangers = Math.max(0, this.#spentByStrangers - connection.spent);
    // What a stranger has sent before its first call was admitted counts for nobody. Later it counts on.
    if (is !== 'stranger') connection.spent = connection.wasKnown ? Math.min(connection.spent, BESIDE_CALLS) : 0;
    connection.wasKnown = true;
    if (this.#remove(connection.session) !== undefined) this.#keep(Object.assign(connection, { is, owner }));
  }

  #remove(session: Http2Session): Connection | undefined {
    const connection = this.#open.get(session);
    if (connection !== undefined) this.#counts[connection.is] -= 1;
    this.#open.delete(session);
    return connection;
  }

  #keep(connection: Connection): void {
    this.#open.set(connection.session, connection);
    this.#counts[connection.is] += 1;
    const { is } = connection;
    if (is === 'stranger') this.#boundNew(connection);
    if (is === 'edge' || this.#counts[is] <= MAX_OPEN) return;
    const others = this.#like(is).filter((other) => other !== connection);
    this.#endOneOf(ofWhoHasMost(others, (other) => other.owner));
  }

  #boundNew({ address }: Connection): void {
    if (this.#counts.stranger <= MAX_NEW_IDLE) return;
    const all = [...this.#like('stranger')].filter((other) => other.address === address && !other.wasKnown);
    const isOver = all.length > MAX_NEW || all.filter(isIdle).length > MAX_NEW_IDLE;
    if (isOver) this.#endOneOf(all.slice(0, -1)); // not the newest: it may be an edge's before its first call
  }

  #like(is: Connection['is']): IteratorObject<Connection> {
    return this.#open.values().filter((connection) => connection.is === is);
  }

  /** It is no stranger any more. */
  #know(connection: Connection, { caller }: CallOfConnection): void {
    this.#become(connection, 'known', String(caller?.accountId ?? 'operator'));
  }

  #endOneOf(all: readonly Connection[]): void {
    const ended = all.find(isIdle) ?? all[0];
    if (ended !== undefined) this.end(ended.session);
  }

  /** Returns true if it has spent too much. */
  #spend(connection: Connection, bytes: number): boolean {
    const calls = connection.openCalls;
    if (connection.is === 'stranger') {
      const admitted = calls.values().find(({ standing }) => standing === 'admitted');
      if (admitted !== undefined) this.#know(connection, admitted);
      else this.#spentByStrangers += bytes;
    }
    connection.spent += bytes;
    const isStranger = connection.is === 'stranger';
    if (isStranger && this.#spentByStrangers > MAX_BYTES_OF_ALL) return connection.spent > FEW_BYTES;
    const [least, ofCall] = isStranger ? [MAX_BYTES, MAX_BODY_BYTES] : [BESIDE_CALLS, BYTES_OF_ADMITTED];
    if (connection.spent <= least) return false;
    const open = [...calls].filter(({ standing }) => standing !== 'refused').length;
    return connection.spent > least + open * ofCall;
  }

  #sweep(): void {
    const now = performance.now();
    const isNew = now - this.#sinceMs > WITHIN_MS;
    if (isNew) [this.#spentByStrangers, this.#sinceMs] = [0, now];
    for (const connection of this.#open.values()) {
      if (connection.is === 'edge') continue;
      if (isNew) connection.spent = 0;
      const { bytesRead } = connection.socket;
      if (this.#spend(connection, bytesRead - connection.read)) this.end(connection.session);
      connection.read = bytesRead;
    }
    if (this.#open.size > this.#counts.edge) return;
    clearInterval(this.#sweeping);
    this.#sweeping = undefined;
  }

  #check(): void {
    const now = performance.now();
    for (const connection of this.#open.values())
      if (isAway(connection) || (connection.is !== 'edge' && isUnused(connection, now))) this.end(connection.session);
    if (this.#open.size > 0) return;
    clearInterval(this.#checking);
    this.#checking = undefined;
  }
}

function isIdle({ openCalls }: Connection): boolean {
  return openCalls.size === 0;
}

/** Whether no byte comes, nor the answer to a ping. Checks are counted, not time, in which this process may stand. */
function isAway(connection: Connection): boolean {
  const { session, socket, heard } = connection;
  connection.heard = socket.bytesRead;
  connection.silentChecks = connection.heard > heard ? 0 : connection.silentChecks + 1;
  if (connection.silentChecks === SILENT_CHECKS && !session.destroyed) session.ping(() => undefined);
  return connection.silentChecks > 2 * SILENT_CHECKS;
}

/** Closes what has no calls. Returns true when its peer does not close it, or has long read nothing. */
function isUnused(connection: Connection, now: number): boolean {
  const { session, openCalls, usedAtMs } = connection;
  const unsent = unsentBy(connection.socket);
  if (unsent === 0 || unsent !== connection.unsent) Object.assign(connection, { unsent, unsentSinceMs: now });
  if (now - connection.unsentSinceMs > UNREAD_MS) return true;
  if (openCalls.size > 0 || now - usedAtMs < IDLE_MS) return false;
  session.close();
  return now - usedAtMs > IDLE_MS + CLOSING_MS;
}

/** What the socket has yet to send: Node's HTTP/2 writes to its handle. */
function unsentBy(socket: Socket): number {
  const handle: { readonly writeQueueSize?: number } | null | undefined = Reflect.get(socket, '_handle');
  return handle?.writeQueueSize ?? 0;
}
