/**
 * Readiness: whether this server takes new calls. Every edge reads it with its health checks, twice a second. While the
 * server drains it reports NOT_SERVING and still serves: an edge that has seen that twice sends it no new calls.
 */
import { setTimeout as delay } from 'node:timers/promises';
import { NAME } from '../../identity.ts';
import { EDGES_KNOW_MS } from '../config/times.ts';
import type { Call } from './chain.ts';

/** The name in Envoy's health checks. Its health is the readiness of this server. */
export const READINESS_SERVICE = `${NAME}.TakesCalls`;

export class Readiness {
  #checkedAtMs = Number.NEGATIVE_INFINITY;

  /** Records a health check. Those that Envoy forwards for a caller, instead of making them itself, don't count. */
  recordCheck(name: string, { source }: Pick<Call, 'source'>): void {
    if (name === READINESS_SERVICE && source === 'edge') this.#checkedAtMs = performance.now();
  }

  /**
   * Call it once the health of `READINESS_SERVICE` is NOT_SERVING. Resolves when every edge has seen that; at once when
   * no edge checks this server.
   */
  async seenByEdges(): Promise<void> {
    // An edge that has not checked for so long is gone. The timer keeps no process alive: a server that has stopped
    // meanwhile is checked no more, and ends at once.
    if (performance.now() - this.#checkedAtMs < EDGES_KNOW_MS) await delay(EDGES_KNOW_MS, undefined, { ref: false });
  }
}
