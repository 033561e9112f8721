/**
 * Readiness: whether this server takes new calls. Every edge reads it with its health checks. While the server drains
 * it reports NOT_SERVING and still serves, until every edge has seen that: from then on no edge sends it a call.
 */
import { setTimeout as delay } from 'node:timers/promises';
import type { Call } from '../rpc/chain.ts';

/** The name in Envoy's health checks. Its health is the readiness of this server. */
export const READINESS_SERVICE = 'petstore.TakesCalls';

/**
 * An edge that has made so many checks since this server began to drain sends it no more calls. After two of them it
 * sends no new ones (`unhealthy_threshold` in envoy/config/clusters.ts). Two more, a quarter of a second apart, are
 * time for those that it had routed already.
 */
const FAILED_CHECKS = 4;
/** An edge that has not checked for this long is gone. Envoy checks twice a second. */
const EDGE_TIMEOUT_MS = 5_000;
/** The longest wait for the edges. One that is frozen or cut off never checks again; the others need half as long. */
export const MAX_WAIT_MS = 5_000;
const POLL_MS = 50;

interface Edge {
  readonly checkedAtMs: number;
  /** How many checks this edge has made since draining began. */
  readonly failedChecks: number;
}

export class Readiness {
  /** By the peer address of the connection that the health checks come over. */
  readonly #edges = new Map<string, Edge>();
  #isDraining = false;

  /**
   * Call it once the health of `READINESS_SERVICE` is NOT_SERVING. Resolves when every edge has seen that, or after
   * 5 s; at once when no edge checks this server.
   */
  async startDraining(): Promise<void> {
    this.#isDraining = true;
    const giveUpAtMs = performance.now() + MAX_WAIT_MS;
    const mayStillCome = (edge: Edge) => edge.failedChecks < FAILED_CHECKS && !isGone(edge);
    // The timer keeps no process alive: a server that has stopped meanwhile is checked no more, and ends at once.
    while (performance.now() < giveUpAtMs && this.#edges.values().some(mayStillCome)) {
      await delay(POLL_MS, undefined, { ref: false });
    }
  }

  /** Records a health check. Those that Envoy forwards for a caller, instead of making them itself, don't count. */
  recordCheck(name: string, { isFromEdge, peer }: Pick<Call, 'isFromEdge' | 'peer'>): void {
    if (name !== READINESS_SERVICE || !isFromEdge) return;
    const failedChecks = this.#isDraining ? (this.#edges.get(peer)?.failedChecks ?? 0) + 1 : 0;
    this.#edges.set(peer, { checkedAtMs: performance.now(), failedChecks });
    for (const [otherPeer, other] of this.#edges) if (isGone(other)) this.#edges.delete(otherPeer);
  }
}

function isGone({ checkedAtMs }: Edge): boolean {
  return performance.now() - checkedAtMs > EDGE_TIMEOUT_MS;
}
