/** Envoy's admin interface. It can drain, quit and more, so it is a Unix socket that only its owner can open. */
import { once } from 'node:events';
import { type IncomingMessage, request } from 'node:http';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import type { Config } from '../config/config.ts';

const TIMEOUT_MS = 5_000;

type Place = Pick<Config, 'dataDir'>;

/** The socket's path. Envoy replaces the socket of a killed Envoy. */
export function adminSocket({ dataDir }: Place): string {
  return join(dataDir, 'envoy-admin.sock');
}

/** Resolves with the body of a 200. Rejects for any other response, and without one. */
export async function callAdmin(
  place: Place,
  method: 'GET' | 'POST',
  path: string,
  signal = AbortSignal.timeout(TIMEOUT_MS),
): Promise<string> {
  const sent = request({ socketPath: adminSocket(place), method, path, signal, agent: false }).end();
  const [response] = (await once(sent, 'response')) as [IncomingMessage];
  const body = await text(response);
  if (response.statusCode !== 200) throw new Error(`Envoy responded ${response.statusCode} to ${method} ${path}`);
  return body;
}
