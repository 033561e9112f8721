/**
 * A client of Redis, for a single server or a cluster.
 *
 * Failure: the client connects in the background, and again when a connection is lost or silent for 3 seconds. Commands
 * do not wait for it: without a connection they are rejected at once. Error messages never show the password.
 */
import { setTimeout as delay } from 'node:timers/promises';
import { ClientOfflineError, createClient, createCluster } from '@redis/client';
import type { RedisConfig } from '../config.ts';

/** How long the first connection may take, including a cluster's map of slots. */
const CONNECT_MS = 5_000;
const LONGEST_PAUSE_MS = 500;
const SOCKET = {
  connectTimeout: CONNECT_MS,
  socketTimeout: 3_000,
  reconnectStrategy: (retries: number) => Math.min(50 * 2 ** retries, LONGEST_PAUSE_MS),
} as const;
const COMMON = { disableOfflineQueue: true, maintNotifications: 'disabled', pingInterval: 1_000 } as const;
// The client's own time limit ends when a command is written, and costs 5 µs: the circuit breaker has another.
const commandOptions = { timeout: 0 };

export class RedisClient {
  readonly #client: ReturnType<typeof createSingleClient> | ReturnType<typeof createClusterClient>;
  readonly #passwords: readonly string[];
  #isClosed = false;
  #lastError: unknown;
  /** Called when a connection is lost, and when an attempt to connect fails. */
  onError: (error: unknown) => void = () => undefined;

  /** Starts to connect. Throws when an address is invalid. */
  constructor(config: RedisConfig) {
    this.#passwords = config.urls.map((url) => new URL(url).password).filter((password) => password !== '');
    this.#client = config.isCluster ? createClusterClient(config) : createSingleClient(config);
    const onError = (error: unknown) => {
      this.#lastError = error;
      this.onError(error);
    };
    this.#client.on('error', onError).on('node-error', onError);
    void this.#connect();
  }

  /** Runs a Lua script by its hash. Sends the script itself to a server that does not know it yet. */
  async run(script: string, sha1: string, keys: string[], args: string[]): Promise<unknown> {
    const options = { keys, arguments: args };
    return this.#client.evalSha(sha1, options).catch((error: Error) => {
      if (!error.message.startsWith('NOSCRIPT')) throw error;
      return this.#client.eval(script, options);
    });
  }

  /** Describes the cause of an error. If that is only a missing connection, describes why it is missing. */
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

  /** Connects for the first time; the client reconnects by itself. No node of a cluster may be running yet. */
  async #connect(): Promise<void> {
    while (!this.#isClosed) {
      const timeout = setTimeout(() => this.#client.destroy(), CONNECT_MS);
      await this.#client.connect().catch((error: unknown) => {
        this.#lastError ??= error;
      });
      clearTimeout(timeout);
      if (this.#client.isOpen && !this.#isClosed) return;
      this.#client.destroy();
      await delay(LONGEST_PAUSE_MS, undefined, { ref: false });
    }
  }
}

function createSingleClient({ urls: [url] }: RedisConfig) {
  return createClient({ ...COMMON, url, socket: { ...SOCKET }, commandOptions });
}

/** All nodes that the cluster names are reached with the user, password and TLS of the first address. */
function createClusterClient({ urls }: RedisConfig) {
  const { username, password, protocol } = new URL(urls[0]);
  const defaults = {
    ...COMMON,
    ...(username === '' ? {} : { username: decodeURIComponent(username) }),
    ...(password === '' ? {} : { password: decodeURIComponent(password) }),
    socket: protocol === 'rediss:' ? { ...SOCKET, tls: true as const } : { ...SOCKET },
  };
  return createCluster({ rootNodes: urls.map((url) => ({ url })), defaults, commandOptions });
}
