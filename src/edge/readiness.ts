/**
 * Readiness: whether this server takes new calls. Every edge reads it with its health checks. While the server drains
 * it reports NOT_SERVING and still serves, until every edge has seen that: from then on no edge sends it a call.
 */
import { setTimeout as delay } from 'node:timers/promises';
import type { Call } from '../interceptors/chain.ts';

/** The name in Envoy's health checks. Its health is the readiness of this server. */
export const READINESS_SERVICE = 'petstore.TakesCalls';

/** Envoy stops sending calls after this many failed checks: `unhealthy_threshold` in envoy/config/clusters.ts. */
const UNHEALTHY_THRESHOLD = 2;
/** An edge that has not checked for this long is gone. Envoy checks twice a second. */
const EDGE_TIMEOUT_MS = 5_000;
/** How long Envoy may need to send the calls that it has routed already. */
const SETTLE_MS = 300;
/** The longest wait for the edges. One that is frozen or cut off never checks again; the others need half as long. */
export const MAX_WAIT_MS = 5_000;
const POLL_MS = 50;

interface Edge {
  readonly checkedAtMs: number;
  /** How many checks this edge has made since draining began. */
  readonly failedChecks: number;
  /** When this edge reached `UNHEALTHY_THRESHOLD`. */
  readonly unhealthySinceMs: number | undefined;
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
    while (performance.now() < giveUpAtMs && !this.#isUnhealthyEverywhere()) await delay(POLL_MS);
  }

  /** Records a health check. Those that Envoy forwards for a caller, instead of making them itself, don't count. */
  recordCheck(name: string, call: Call): void {
    if (name === READINESS_SERVICE && call.isFromEdge) this.#record(call.peer);
  }

  #record(peer: string): void {
    const checkedAtMs = performance.now();
    const edge = this.#edges.get(peer);
    const failedChecks = this.#isDraining ? (edge?.failedChecks ?? 0) + 1 : 0;
    const unhealthySinceMs = edge?.unhealthySinceMs ?? (failedChecks === UNHEALTHY_THRESHOLD ? checkedAtMs : undefined);
    this.#edges.set(peer, { checkedAtMs, failedChecks, unhealthySinceMs });
    for (const [otherPeer, other] of this.#edges) if (isGone(other)) this.#edges.delete(otherPeer);
  }

  #isUnhealthyEverywhere(): boolean {
    return [...this.#edges.values()].every(
      (edge) => isGone(edge) || performance.now() - (edge.unhealthySinceMs ?? Infinity) > SETTLE_MS,
    );
  }
}

function isGone({ checkedAtMs }: Edge): boolean {
  return performance.now() - checkedAtMs > EDGE_TIMEOUT_MS;
}
