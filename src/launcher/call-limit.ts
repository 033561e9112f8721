/**
 * How many calls an edge alone lets be under way: as many as the servers can take that it has found. A name in SERVERS may
 * be any number of them, and they come and go.
 */
import { setTimeout as delay } from 'node:timers/promises';
import type { Envoy } from './envoy.ts';
import { MAX_CALLS_PER_SERVER } from './envoy-config.ts';

const POLL_MS = 5_000;

/** Looks again until it is over, and tells an Envoy that was started anew as well. */
export async function limitCalls(envoy: Envoy, shutdown: AbortSignal): Promise<void> {
  while (!shutdown.aborted) {
    try {
      await envoy.setMaxCalls(MAX_CALLS_PER_SERVER * Math.max(1, await envoy.countHealthyServers()));
    } catch {
      // It is very busy, or being started again: what it has goes on.
    }
    await delay(POLL_MS, undefined, { signal: shutdown }).catch(() => undefined);
  }
}
