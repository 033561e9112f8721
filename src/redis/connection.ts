/**
 * A connection to Redis, a single server or a cluster: the one place that knows how the client is made.
 *
 * Failure: a connection lives once. It is lost when a socket fails, or when a command has no answer within
 * `patienceMs` (a server that hangs, a network that swallows everything). Then every command that waits is rejected
 * with the cause, and `onLost` is told. Nothing here tries again: `link.ts` opens another connection, so that there is
 * one way back, whatever the way out was. Messages never show the password.
 */
import { createHash } from 'node:crypto';
import { createClient, createCluster } from '@redis/client';
import type { RedisConfig } from '../config.ts';

/** How long it may take to connect, greetings and a cluster's map of slots included. */
const CONNECT_MS = 2_000;

/** A Lua script: sent once to each server, named by its hash from then on. */
export interface RedisScript {
  readonly text: string;
  readonly sha1: string;
}

export function redisScript(text: string): RedisScript {
  return { text, sha1: createHash('sha1').update(text).digest('hex') };
}

/** A command that waits for its answer. */
interface Waiting {
  readonly sinceMs: number;
  readonly reject: (cause: Error) => void;
}

export class RedisConnection {
  readonly #client: Client;
  readonly #patienceMs: number;
  readonly #secrets: readonly string[];
  readonly #onLost: (cause: Error) => void;
  readonly #waiting = new Set<Waiting>();
  #watch: NodeJS.Timeout | undefined;
  #cause: Error | undefined;
  /** A cluster says why a node can't be reached here, and not in what `connect` throws. */
  #lastError: Error | undefined;

  /** `onLost` is called once: when the connection is lost, or when it is closed. */
  constructor(config: RedisConfig, patienceMs: number, onLost: (cause: Error) => void) {
    this.#patienceMs = patienceMs;
    this.#secrets = secretsOf(config);
    this.#onLost = onLost;
    this.#client = config.isCluster ? createNodes(config) : createSingle(config);
    this.#client.on('error', (error: Error) => {
      this.#lastError = error;
      if (!config.isCluster) this.lose(error);
    });
    this.#client.on('node-error', (error: Error) => this.lose(error));
  }

  /** Connects, in 2 seconds at the most. Rejects with the cause; the connection is lost then. */
  async connect(): Promise<void> {
    const connecting: Promise<unknown> = this.#client.connect();
    // A cluster whose map comes after it was given up would connect to the nodes after all.
    const destroyLate = () => this.#cause !== undefined && this.#client.destroy();
    connecting.then(destroyLate, destroyLate);
    try {
      await this.#answer(() => connecting, CONNECT_MS);
    } catch (error) {
      this.lose(this.#lastError ?? error);
      throw this.#cause;
    }
  }

  async run(script: RedisScript, keys: string[], args: string[]): Promise<unknown> {
    const options = { keys, arguments: args };
    try {
      return await this.#answer(() => this.#client.evalSha(script.sha1, options));
    } catch (error) {
      if (!(error instanceof Error && error.message.startsWith('NOSCRIPT'))) throw error;
      return this.#answer(() => this.#client.eval(script.text, options));
    }
  }

  async publish(channel: string, message: string): Promise<void> {
    await this.#answer(() => this.#client.publish(channel, message));
  }

  async subscribe(channel: string, onMessage: (message: string) => void): Promise<void> {
    await this.#answer(() => this.#client.subscribe(channel, onMessage));
  }

  /** Gives the connection up, as if the server had closed it. */
  lose(error: unknown): void {
    if (this.#cause !== undefined) return;
    this.#cause = new Error(this.#describe(error));
    clearTimeout(this.#watch);
    for (const { reject } of this.#waiting) reject(this.#cause);
    this.#waiting.clear();
    this.#client.destroy();
    this.#onLost(this.#cause);
  }

  /** The answer to a command. One that does not come in time costs the connection. */
  #answer<T>(send: () => Promise<T>, patienceMs = this.#patienceMs): Promise<T> {
    return new Promise((resolve, reject) => {
      if (this.#cause !== undefined) return reject(this.#cause);
      const waiting = { sinceMs: performance.now() + patienceMs - this.#patienceMs, reject };
      this.#waiting.add(waiting);
      this.#watch ??= this.#lookAgainIn(patienceMs);
      send().then(
        (value) => {
          this.#waiting.delete(waiting);
          resolve(value);
        },
        (error: Error) => {
          this.#waiting.delete(waiting);
          reject(new Error(this.#describe(error)));
        },
      );
    });
  }

  /** One timer for all commands: it looks at the one that waits longest. */
  #lookAgainIn(delayMs: number): NodeJS.Timeout {
    // This process may have been busy itself: what has arrived meanwhile is read before the second look.
    const look = () => (this.#oldestMs() >= this.#patienceMs ? setImmediate(() => this.#judge()) : this.#judge());
    return setTimeout(look, delayMs).unref();
  }

  #judge(): void {
    if (this.#cause !== undefined) return;
    const oldestMs = this.#oldestMs();
    if (oldestMs >= this.#patienceMs) this.lose(new Error('it does not answer'));
    this.#watch = this.#waiting.size > 0 ? this.#lookAgainIn(this.#patienceMs - oldestMs + 1) : undefined;
  }

  #oldestMs(): number {
    for (const { sinceMs } of this.#waiting) return performance.now() - sinceMs;
    return 0;
  }

  #describe(error: unknown): string {
    const { message, code } = error instanceof Error ? (error as NodeJS.ErrnoException) : { message: '', code: '' };
    return this.#secrets.reduce((text, secret) => text.replaceAll(secret, '***'), message || code || String(error));
  }
}

type Client = ReturnType<typeof createSingle> | ReturnType<typeof createNodes>;

/** What every client has: no attempts of its own to come back, and no patience of its own. */
const COMMON = { disableOfflineQueue: true, maintNotifications: 'disabled' } as const;
const SOCKET = { connectTimeout: CONNECT_MS, reconnectStrategy: false } as const;
const commandOptions = { timeout: 0 };

function createSingle({ urls: [url] }: RedisConfig) {
  return createClient({ ...COMMON, url, socket: { ...SOCKET }, commandOptions });
}

/** The nodes that a cluster names are reached as the first of the addresses is: same user, same password, same TLS. */
function createNodes({ urls }: RedisConfig) {
  const { username, password, protocol } = new URL(urls[0]);
  const defaults = {
    ...COMMON,
    ...(username === '' ? {} : { username: decodeURIComponent(username) }),
    ...(password === '' ? {} : { password: decodeURIComponent(password) }),
    socket: protocol === 'rediss:' ? { ...SOCKET, tls: true as const } : { ...SOCKET },
  };
  // The connection that asks for the map is nobody's to close: it ends by itself.
  const rootNodes = urls.map((url) => ({ url, socket: { socketTimeout: CONNECT_MS } }));
  return createCluster({ rootNodes, defaults, commandOptions });
}

function secretsOf({ urls }: RedisConfig): string[] {
  const passwords = urls.map((url) => new URL(url).password).filter((password) => password !== '');
  return [...passwords, ...passwords.map(decodeURIComponent)];
}
