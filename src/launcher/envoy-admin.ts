/** Envoy's admin interface. It can drain, quit and more, so it is a Unix socket that only its owner can open. */
import { once } from 'node:events';
import { type IncomingMessage, request } from 'node:http';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { type Config, ConfigError } from '../config/config.ts';

/** The longest path of a Unix socket, in bytes: 107 on Linux, 103 on macOS. */
const MAX_PATH_BYTES = 103;

export function adminSocket({ dataDir }: Config): string {
  return join(dataDir, 'envoy-admin.sock');
}

/** Throws ConfigError when the path of the socket is too long. Envoy replaces the socket of a killed Envoy. */
export function checkAdminSocket(config: Config): void {
  const path = adminSocket(config);
  const bytes = Buffer.byteLength(path);
  if (bytes > MAX_PATH_BYTES) {
    const tooLong = `${path} is too long for the path of a socket, ${bytes} bytes of at most ${MAX_PATH_BYTES}`;
    throw new ConfigError(`${tooLong}: set DATA_DIR to a folder with a shorter path`);
  }
}

export class EnvoyAdmin {
  readonly #socketPath: string;

  constructor(config: Config) {
    this.#socketPath = adminSocket(config);
  }

  /** Resolves with the body of a 200. Rejects for any other response, and without one. */
  async get(path: string, signal: AbortSignal): Promise<string> {
    return this.#send('GET', path, signal);
  }

  async post(path: string, signal: AbortSignal): Promise<void> {
    await this.#send('POST', path, signal);
  }

  async #send(method: string, path: string, signal: AbortSignal): Promise<string> {
    const sent = request({ socketPath: this.#socketPath, method, path, signal, agent: false }).end();
    const [response] = (await once(sent, 'response')) as [IncomingMessage];
    const body = await text(response);
    if (response.statusCode !== 200) throw new Error(`Envoy answered ${response.statusCode} to ${method} ${path}`);
    return body;
  }
}
