/**
 * A client of Redis, a single server or a cluster: the one place that knows how it is made.
 *
 * Failure: the client connects by itself, and again when a connection is lost or says nothing for 3 seconds. Nobody
 * waits for that: without a connection a command is rejected at once. Causes never show the password.
 */
import { setTimeout as delay } from 'node:timers/promises';
import { ClientOfflineError, createClient, createCluster } from '@redis/client';
import type { RedisConfig } from '../config.ts';

/** How long the first connection may take; a cluster's map of slots included. */
const CONNECT_MS = 5_000;
const LONGEST_PAUSE_MS = 500;
const SOCKET = {
  connectTimeout: CONNECT_MS,
  socketTimeout: 3_000,
  reconnectStrategy: (retries: number) => Math.min(50 * 2 ** retries, LONGEST_PAUSE_MS),
} as const;
const COMMON = { disableOfflineQueue: true, maintNotifications: 'disabled', pingInterval: 1_000 } as const;
const commandOptions = { timeout: 0 }; // a timer for each command is more than it needs

export class RedisClient {
  readonly #client: ReturnType<typeof createSingle> | ReturnType<typeof createNodes>;
  readonly #passwords: readonly string[];
  #isClosed = false;
  #lastError: unknown;
  /** A connection was lost, or there was none yet, since `#onConnected` was called. */
  #hasMissed = true;
  #onConnected: () => Promise<unknown> = async () => undefined;
  /** Told of every loss, and of every attempt to connect that failed. */
  onError: (error: unknown) => void = () => undefined;

  /** Starts to connect. Throws when no client can be made of the address. */
  constructor(config: RedisConfig) {
    this.#passwords = config.urls.map((url) => new URL(url).password).filter((password) => password !== '');
    this.#client = config.isCluster ? createNodes(config) : createSingle(config);
    const onError = (error: unknown) => {
      this.#lastError = error;
      this.#hasMissed = true;
      this.onError(error);
    };
    const onReady = () => void this.#connected();
    this.#client.on('error', onError).on('node-error', onError).on('ready', onReady).on('node-ready', onReady);
    void this.#connect();
  }

  /** Runs a Lua script: it is sent once to each server, and named by its hash from then on. */
  async run(script: string, sha1: string, keys: string[], args: string[]): Promise<unknown> {
    const options = { keys, arguments: args };
    return this.#client.evalSha(sha1, options).catch((error: Error) => {
      if (!error.message.startsWith('NOSCRIPT')) throw error;
      return this.#client.eval(script, options);
    });
  }

  async publish(channel: string, message: string): Promise<void> {
    await this.#client.publish(channel, message);
  }

  /** Listens from the next connection on. `onSubscribed` is called when it does, and anew after each loss of one. */
  subscribe(channel: string, onMessage: (message: string) => void, onSubscribed: () => void): void {
    this.#onConnected = () => this.#client.subscribe(channel, onMessage).then(onSubscribed);
  }

  /** What an error says of the cause. One that only says that there is no connection stands for why not. */
  describe(error?: unknown): string {
    const cause = error === undefined || error instanceof ClientOfflineError ? this.#lastError : error;
    const { message = 'it does not answer', code = '' } = (cause ?? {}) as Partial<NodeJS.ErrnoException>;
    const secrets = [...this.#passwords, ...this.#passwords.map(decodeURIComponent)];
    return secrets.reduce((text, secret) => text.replaceAll(secret, '***'), message || code || String(cause));
  }

  close(): void {
    this.#isClosed = true;
    this.#client.destroy();
  }

  /** Connects for the first time; from then on the client does. A cluster may have no node yet to ask for the others. */
  async #connect(): Promise<void> {
    while (!this.#isClosed) {
      const late = setTimeout(() => this.#client.destroy(), CONNECT_MS);
      await this.#client.connect().catch((error: unknown) => {
        this.#lastError ??= error;
      });
      clearTimeout(late);
      if (this.#client.isOpen && !this.#isClosed) return this.#connected();
      this.#client.destroy();
      await delay(LONGEST_PAUSE_MS, undefined, { ref: false });
    }
  }

  async #connected(): Promise<void> {
    if (!this.#hasMissed) return;
    this.#hasMissed = false;
    try {
      await this.#onConnected();
    } catch {
      this.#hasMissed = true;
    }
  }
}

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
  return createCluster({ rootNodes: urls.map((url) => ({ url })), defaults, commandOptions });
}
