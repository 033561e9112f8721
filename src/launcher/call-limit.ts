/**
 * The limit of open calls at a standalone edge. It follows the number of healthy servers: a name in SERVERS may resolve
 * to any number of them, and they come and go.
 */
import { setTimeout as delay } from 'node:timers/promises';
import { MAX_CALLS_PER_SERVER } from '../config/constants.ts';
import type { Envoy } from './envoy.ts';

const POLL_MS = 5_000;

/** Updates the limit every few seconds until shutdown, so that an Envoy that was restarted gets it too. */
export async function limitCalls(envoy: Envoy, shutdown: AbortSignal): Promise<void> {
  while (!shutdown.aborted) {
    try {
      await envoy.setMaxCalls(MAX_CALLS_PER_SERVER * Math.max(1, await envoy.countHealthyServers()));
    } catch {
      // Envoy is busy or restarting: try again.
    }
    await delay(POLL_MS, undefined, { signal: shutdown }).catch(() => undefined);
  }
}
