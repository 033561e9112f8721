/**
 * A client of Redis, for a single server or a cluster, that knows whether Redis is available.
 *
 * Redis is unavailable when a connection is lost, and after the first command that fails for whatever reason or has no
 * reply in time, on a cluster of any node. Then no commands are sent until a probe has succeeded, which is tried again
 * and again. The log has one line per outage, with the cause, and one when it is over. The cause never shows the
 * password.
 *
 * The library connects again when a connection is lost or silent for 3 seconds. A connection on which a command has
 * failed, but for an error that Redis replied, is opened anew: its replies may be those of other commands from then on.
 */
import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { setTimeout as delay, setImmediate as settled } from 'node:timers/promises';
import { ClientOfflineError, createClient, createCluster, ErrorReply, RootNodesUnavailableError } from '@redis/client';
import type { Logger } from 'pino';
import type { RedisConfig } from '../../config/config.ts';

/** How long a start waits for Redis, which may be starting as well. */
const START_MS = 1_000;
/** One slow reply is no outage: a busy machine, or a long command of another client, takes less than this. */
const TIMEOUT_MS = 1_000;
const PROBE_PAUSE_MS = 200;
const SOCKET = {
  connectTimeout: 5_000,
  socketTimeout: 3_000,
  reconnectStrategy: (retries: number) => Math.min(50 * 2 ** retries, 500),
} as const;
const COMMON = { disableOfflineQueue: true, maintNotifications: 'disabled', pingInterval: 1_000 } as const;
// The library's own time limit ends when a command is written, and costs 5 µs.
const commandOptions = { timeout: 0 };
/** A replica, which keeps its connections. After a failover its address may lead to another server. */
const READ_ONLY = /\bREADONLY\b/;
/** What shows a password: a server's error may repeat the arguments of HELLO, and the library's the URL of a node. */
const SECRETS = /, with args .*|(?<=:\/\/)[^\s/]*@/gs;

export interface Script {
  readonly text: string;
  readonly sha1: string;
}

export function loadScript(file: URL): Script {
  const text = readFileSync(file, 'utf8');
  return { text, sha1: createHash('sha1').update(text).digest('hex') };
}

export interface RedisClientOptions {
  readonly redis: RedisConfig;
  /** How long a command may take. Default: a second. */
  readonly timeoutMs?: number;
  readonly logger: Pick<Logger, 'info' | 'warn'>;
}

export class RedisClient {
  readonly #client: ReturnType<typeof createSingleClient> | ReturnType<typeof createClusterClient>;
  readonly #timeoutMs: number;
  readonly #logger: RedisClientOptions['logger'];
  readonly #closing = new AbortController();
  #isAvailable = false;
  /** The log has a line about the current outage. */
  #isReported = false;
  /** Why a connection, a command or a probe failed last. */
  #cause: unknown;
  #probe: () => Promise<unknown> = async () => undefined;
  #recovery: Promise<void> | undefined;

  /** Throws when an address is invalid. */
  constructor({ redis, timeoutMs = TIMEOUT_MS, logger }: RedisClientOptions) {
    this.#client = redis.isCluster ? createClusterClient(redis) : createSingleClient(redis);
    this.#timeoutMs = timeoutMs;
    this.#logger = logger;
    const onError = (error: unknown) => this.#fail(error);
    this.#client.on('error', onError).on('node-error', onError);
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
    if (!this.#isAvailable) this.#report();
  }

  /**
   * Sends a command. Resolves with the reply; with undefined if Redis is or becomes unavailable before it: then this
   * server has begun to count by itself, and the reply would hide what it has counted.
   */
  async run<T>(command: () => Promise<T>): Promise<T | undefined> {
    if (!this.#isAvailable) return undefined;
    try {
      const reply = await this.#inTime(command());
      return this.#isAvailable ? reply : undefined;
    } catch (error) {
      this.#fail(error);
      return undefined;
    }
  }

  /**
   * Runs a Lua script by its hash, and sends the script itself to a server that does not know it yet. For commands of
   * `run` and for probes: rejects when it fails, at once without a connection.
   */
  async evaluate({ text, sha1 }: Script, keys: string[], args: string[]): Promise<unknown> {
    const options = { keys, arguments: args };
    return this.#client.evalSha(sha1, options).catch((error: Error) => {
      if (!error.message.startsWith('NOSCRIPT')) throw error;
      return this.#client.eval(text, options);
    });
  }

  async close(): Promise<void> {
    this.#closing.abort();
    this.#isAvailable = false;
    if (this.#client.isOpen) this.#client.destroy();
    await this.#recovery;
  }

  /** Rejects when there is no reply in time. A process that was itself busy first reads what has arrived. */
  async #inTime<T>(reply: Promise<T>): Promise<T> {
    const { promise, reject } = Promise.withResolvers<never>();
    const late = () => setImmediate(reject, new Error(`no reply in ${this.#timeoutMs} ms`));
    const timer = setTimeout(late, this.#timeoutMs);
    try {
      return await Promise.race([reply, promise]);
    } finally {
      clearTimeout(timer);
    }
  }

  #fail(error: unknown): void {
    // A missing connection is missing for another reason.
    if (!(error instanceof ClientOfflineError || error instanceof RootNodesUnavailableError)) this.#cause = error;
    if (!this.#isAvailable) return;
    this.#isAvailable = false;
    this.#report();
    this.#recovery = this.#recover(error);
  }

  #report(): void {
    this.#isReported = true;
    const { message, code = 'it does not respond' } = (this.#cause ?? {}) as Partial<NodeJS.ErrnoException>;
    const cause = (message || code).replace(SECRETS, ''); // the message of an AggregateError is empty
    this.#logger.warn({ cause }, 'Redis is unavailable: this server counts the limits by itself until Redis is back');
  }

  async #recover(failure?: unknown): Promise<void> {
    const { signal } = this.#closing;
    await settled(); // the library may be handling the failure
    while (!this.#isAvailable && !signal.aborted) {
      try {
        if (this.#client.isOpen && mustReopen(failure)) this.#client.destroy();
        // The library reconnects by itself. It gives up only for a cluster of which no node runs yet.
        if (!this.#client.isOpen) await this.#client.connect();
        if (signal.aborted) this.#client.destroy(); // a cluster that was closed meanwhile has connected all the same
        await this.#inTime(this.#probe());
        this.#isAvailable = !signal.aborted;
      } catch (error) {
        this.#fail(error);
        failure = error;
        await delay(PROBE_PAUSE_MS, undefined, { signal, ref: false }).catch(() => undefined);
      }
    }
    if (this.#isAvailable && this.#isReported) {
      this.#logger.info('Redis is back: it counts the limits of all servers again');
    }
    this.#isReported = false;
  }
}

function mustReopen(failure: unknown): boolean {
  if (failure instanceof ClientOfflineError || failure instanceof RootNodesUnavailableError) return false;
  return failure !== undefined && !(failure instanceof ErrorReply && !READ_ONLY.test(failure.message));
}

function createSingleClient({ urls: [url] }: RedisConfig) {
  // The library adds the address to the settings of the socket.
  return createClient({ ...COMMON, url, socket: { ...SOCKET }, commandOptions });
}

/** All nodes that the cluster names are reached with the user, password and TLS of the first address. */
function createClusterClient({ urls }: RedisConfig) {
  const { username, password, protocol } = new URL(urls[0]);
  const defaults = {
    ...COMMON,
    ...(username === '' ? {} : { username: decodeURIComponent(username) }),
    ...(password === '' ? {} : { password: decodeURIComponent(password) }),
    socket: protocol === 'rediss:' ? { ...SOCKET, tls: true as const } : SOCKET,
  };
  return createCluster({ rootNodes: urls.map((url) => ({ url })), defaults, commandOptions });
}
