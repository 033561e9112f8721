/**
 * A client of Redis, for a single server or a cluster, that knows whether Redis is available.
 *
 * | | available | unavailable |
 * |---|---|---|
 * | a command is asked for | it is sent | it is not sent: the server decides by itself |
 * | its reply | is used, if the connection is still the same | is ignored |
 * | an error of PASSING or MOVING | the command is sent again while it has time | the same, then the attempt fails |
 * | MOVING still | the server decides by itself on this one | the attempt fails |
 * | any other failure, silence, a lost connection | unavailable, on a cluster for all slots | the attempt fails |
 *
 * Recovery has one owner, `#recover`: the library never connects again by itself. Each attempt opens a new client, from
 * any of the addresses, and probes it. It has a time limit, and a failed one leaves no connection. The log has one line
 * per outage, with the cause, and one when it is over. The cause never shows the password.
 */
import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { setTimeout as delay, setImmediate as settled } from 'node:timers/promises';
import { ClientOfflineError, createClient, createCluster, RootNodesUnavailableError } from '@redis/client';
import type { Logger } from 'pino';
import type { RedisConfig } from '../../config/config.ts';

/** How long a start waits for Redis, which may be starting as well. */
const START_MS = 1_000;
/** One slow reply is no outage: a busy machine, or a long command of another client, takes less than this. */
const TIMEOUT_MS = 1_000;
/** How long an attempt may take to connect, on a cluster to all its masters. */
const CONNECT_MS = 3_000;
const ATTEMPT_PAUSE_MS = 400;
/** Before the first attempt. It doubles with each outage that begins within STEADY_MS of the end of the one before. */
const FIRST_PAUSE_MS = 100;
const MAX_PAUSE_MS = 10_000;
const STEADY_MS = 15_000;
/** The pause before a command is sent again. It doubles each time. */
const AGAIN_MS = 10;
/** What a cluster replies, and the library says, while a slot moves to another node. Nothing has been executed. */
const MOVING = /: (TRYAGAIN|MOVED|ASK|Too many Cluster redirections|Cannot find node)/;
/** Other errors that may pass soon. The last is the library's, of commands to a node that has no slots any more. */
const PASSING = /: (CLUSTERDOWN|LOADING|MASTERDOWN|Disconnects client)/;
/** When no request has met a slot that moves for so long, none does. */
const MOVED_MS = 5_000;
// Without a time limit of the library's for silence: it would see one where this process was itself busy. A ping keeps
// connections open that a firewall would forget.
const COMMON = { disableOfflineQueue: true, maintNotifications: 'disabled', pingInterval: 1_000 } as const;
// The library's own time limit ends when a command is written, and costs 5 µs.
const commandOptions = { timeout: 0 };
/** What shows a password: a server's error may repeat the arguments of HELLO, and the library's the URL of a node. */
const SECRETS = /, with args .*|(?<=:\/\/)[^\s/]*@/gs;

type Script = ReturnType<typeof loadScript>;

/** Declares the constants, in Lua, before the script in `file`. */
export function loadScript(file: URL, constants: Readonly<Record<string, string | number>> = {}) {
  const declared = Object.entries(constants).map(([name, value]) => `local ${name} = ${value}\n`);
  const text = declared.join('') + readFileSync(file, 'utf8');
  return { text, sha1: createHash('sha1').update(text).digest('hex') };
}

export interface RedisClientOptions {
  readonly redis: RedisConfig;
  /** How long a command may take. Default: a second. */
  readonly timeoutMs?: number;
  readonly logger: Pick<Logger, 'info' | 'warn'>;
}

type Connection = ReturnType<typeof openConnection>;

export class RedisClient {
  readonly #redis: RedisConfig;
  readonly #timeoutMs: number;
  readonly #logger: RedisClientOptions['logger'];
  readonly #closing = new AbortController();
  /** The one in use, or of the last attempt. */
  #connection: Connection | undefined;
  #isAvailable = false;
  /** The log has a line about the current outage. */
  #isReported = false;
  /** Why a connection, a command or an attempt failed last. */
  #cause: unknown;
  #probe: () => Promise<unknown> = async () => undefined;
  #recovery: Promise<void> | undefined;
  #backAtMs = Number.NEGATIVE_INFINITY;
  /** Before the first attempt of an outage. */
  #pauseMs = 0;
  /** Set while a slot moves for longer than a command may take: then nobody waits for it. */
  #moving: NodeJS.Timeout | undefined;

  constructor({ redis, timeoutMs = TIMEOUT_MS, logger }: RedisClientOptions) {
    this.#redis = redis;
    this.#timeoutMs = timeoutMs;
    this.#logger = logger;
  }

  /** Whether commands are sent. */
  get isAvailable(): boolean {
    return this.#isAvailable;
  }

  /** Connects. Resolves when `probe` has succeeded, which sends commands; or after a second without that. */
  async start(probe: () => Promise<unknown>): Promise<void> {
    this.#probe = probe;
    this.#recovery = this.#recover();
    await Promise.race([this.#recovery, delay(START_MS, undefined, { ref: false })]);
  }

  /** Sends a command. Undefined without Redis, or while a slot moves: this server counts by itself then. */
  async run<T>(command: () => Promise<T>): Promise<T | undefined> {
    const connection = this.#connection;
    const isInUse = () => this.#isAvailable && this.#connection === connection;
    if (!this.#isAvailable) return undefined;
    try {
      const reply = await inTime(this.#timeoutMs, command());
      return isInUse() ? reply : undefined;
    } catch (error) {
      if (isInUse()) MOVING.test(`${error}`) ? this.#onMoving(error) : this.#onFailure(error);
      return undefined;
    }
  }

  /** Runs a Lua script, also on a server that does not know it yet. For `run` and probes: rejects when it fails. */
  async evaluate({ text, sha1 }: Script, keys: string[], args: string[]): Promise<unknown> {
    const connection = this.#connection;
    const options = { keys, arguments: args };
    const endMs = performance.now() + this.#timeoutMs;
    for (let pauseMs = AGAIN_MS; ; pauseMs *= 2) {
      try {
        if (connection === undefined || connection !== this.#connection) throw new ClientOfflineError();
        return await connection.client.evalSha(sha1, options).catch((error: Error) => {
          if (!error.message.startsWith('NOSCRIPT')) throw error;
          return connection.client.eval(text, options);
        });
      } catch (error) {
        const isPassing = PASSING.test(`${error}`) || (this.#moving === undefined && MOVING.test(`${error}`));
        if (!isPassing || performance.now() + pauseMs >= endMs) throw withLine(error, text);
        await delay(pauseMs);
      }
    }
  }

  async close(): Promise<void> {
    this.#closing.abort();
    this.#isAvailable = false;
    clearTimeout(this.#moving);
    this.#connection?.close();
    await this.#recovery;
  }

  #onFailure(error: unknown): void {
    this.#note(error);
    if (!this.#isAvailable) return;
    this.#isAvailable = false;
    this.#report();
    const isRelapse = performance.now() - this.#backAtMs < STEADY_MS;
    this.#pauseMs = isRelapse ? Math.min(this.#pauseMs * 2 + FIRST_PAUSE_MS, MAX_PAUSE_MS) : FIRST_PAUSE_MS;
    this.#recovery = this.#recover();
  }

  #note(error: unknown): void {
    // A missing connection is missing for another reason.
    if (!(error instanceof ClientOfflineError || error instanceof RootNodesUnavailableError)) this.#cause = error;
  }

  #report(): void {
    this.#isReported = true;
    const cause = describe(this.#cause);
    this.#logger.warn({ cause }, 'Redis is unavailable: this server counts the limits by itself until Redis is back');
  }

  /** A slot moves, or does so still. */
  #onMoving(error: unknown): void {
    if (this.#moving !== undefined) return void this.#moving.refresh();
    const cause = describe(error);
    this.#logger.warn({ cause }, 'A slot of Redis moves: this server counts the limits in it by itself until then');
    this.#moving = setTimeout(() => {
      this.#moving = undefined;
      this.#logger.info('The slot of Redis has moved: Redis counts all limits again');
    }, MOVED_MS).unref();
  }

  async #recover(): Promise<void> {
    const { signal } = this.#closing;
    const lost = this.#connection;
    this.#connection = undefined;
    await settled(); // the library may be handling the failure
    lost?.close();
    for (let pauseMs = this.#pauseMs; !signal.aborted && !this.#isAvailable; pauseMs = ATTEMPT_PAUSE_MS) {
      await delay(pauseMs, undefined, { signal }).catch(() => undefined);
      if (!signal.aborted) await this.#attempt();
    }
    if (!this.#isAvailable) return;
    this.#backAtMs = performance.now();
    if (this.#isReported) this.#logger.info('Redis is back: it counts the limits of all servers again');
    this.#isReported = false;
  }

  async #attempt(): Promise<void> {
    let connection: Connection | undefined;
    try {
      const onError = (error: unknown) => this.#connection === connection && this.#onFailure(error);
      this.#connection = connection = openConnection(this.#redis, onError);
      await inTime<unknown>(CONNECT_MS, connection.client.connect());
      await inTime(this.#timeoutMs, Promise.all([connection.check(), this.#probe()]));
      this.#isAvailable = !this.#closing.signal.aborted;
    } catch (error) {
      this.#note(error);
      if (!this.#isReported && !this.#closing.signal.aborted) this.#report();
      this.#connection = undefined;
      connection?.close();
    }
  }
}

/** Adds the line of the script in which an error occurred, such as one with a command that the user may not run. */
function withLine(error: unknown, script: string): unknown {
  const [, number] = (error instanceof Error && /@user_script:(\d+)/.exec(error.message)) || [];
  const line = script.split('\n')[Number(number) - 1];
  return line === undefined ? error : new Error(`${(error as Error).message} ${line.trim()}`, { cause: error });
}

function describe(error: unknown): string {
  const { message, code = 'it does not respond' } = (error ?? {}) as Partial<NodeJS.ErrnoException>;
  return (message || code).replace(SECRETS, ''); // the message of an AggregateError is empty
}

/** Rejects when there is no reply in time. A process that was itself busy first reads what has arrived. */
async function inTime<T>(timeoutMs: number, reply: Promise<T>): Promise<T> {
  const { promise, reject } = Promise.withResolvers<never>();
  const late = () => setImmediate(reject, new Error(`no reply in ${timeoutMs} ms`));
  const timer = setTimeout(late, timeoutMs);
  try {
    return await Promise.race([reply, promise]);
  } finally {
    clearTimeout(timer);
  }
}

/** A client that has not connected yet. `close` also ends connections that are being opened: the library does not. */
function openConnection({ urls, isCluster }: RedisConfig, onError: (error: unknown) => void) {
  const sockets = new AbortController();
  const socket = { reconnectStrategy: false, signal: sockets.signal } as const;
  const { username, password, protocol } = new URL(urls[0]);
  const client = isCluster
    ? createCluster({
        rootNodes: urls.map((url) => ({ url })), // it begins with any of them, and goes on with the next
        // All nodes that the cluster names are reached with the user, password and TLS of the first address.
        defaults: {
          ...COMMON,
          ...(username === '' ? {} : { username: decodeURIComponent(username) }),
          ...(password === '' ? {} : { password: decodeURIComponent(password) }),
          socket: protocol === 'rediss:' ? { ...socket, tls: true as const } : socket,
        },
        commandOptions,
      })
    : createClient({ ...COMMON, url: urls[0], socket, commandOptions }); // the library adds the address to the socket
  client.on('error', onError).on('node-error', onError);
  return {
    client,
    /** Runs what the library needs, on a cluster while slots move. It keeps the map of a node that lacks a slot yet. */
    async check() {
      const slots = 'slots' in client ? [...client.slots] : [];
      if (slots.includes(undefined as never)) throw new Error('the cluster has a slot that no node serves');
      await Promise.all([client.ping(), 'slots' in client && client.sendCommand(undefined, true, ['ASKING'])]);
    },
    close() {
      client.destroy();
      sockets.abort();
    },
  };
}
