/**
 * Whether this server takes new calls, as every edge asks with its health checks. When it is to end, it says no while it
 * still serves, until all of them know: then none sends it a call that it would have to lose.
 */
import { setTimeout as delay } from 'node:timers/promises';
import {
  type Metadata,
  ServerInterceptingCall,
  type ServerInterceptingCallInterface,
  type ServerInterceptor,
} from '@grpc/grpc-js';

/** The service whose health says it; Envoy asks for it. */
export const TAKES_CALLS = 'petstore.TakesCalls';

const HEALTH_CHECK = '/grpc.health.v1.Health/Check';
/** After so many answers Envoy knows: as `unhealthy_threshold` in envoy.yaml. */
const ANSWERS = 2;
/** Who asks is one who has asked so lately. Envoy asks once a second. */
const ASKS_MS = 5_000;
/** What Envoy needs to end what it has just begun. */
const SETTLE_MS = 300;
/** An edge that is frozen or cut off asks no more; the others need half as long. */
const GIVE_UP_MS = 5_000;
const POLL_MS = 50;

interface Asker {
  readonly askedAtMs: number;
  readonly refusals: number;
  /** When it came to know. */
  readonly knowsSinceMs: number | undefined;
}

export class TakesCalls {
  /** By the connection that the questions come over. */
  readonly #askers = new Map<string, Asker>();
  #isLeaving = false;

  /** Notes who asks, before what else stands before the calls of the health service. */
  noteAskers(others: ServerInterceptor): ServerInterceptor {
    return (method, call) => {
      const taken = others(method, call);
      return method.path === HEALTH_CHECK ? this.#noted(taken) : taken;
    };
  }

  /** To be called when the answer has become no. Resolves when every edge knows; where none asks, at once. */
  async leave(): Promise<void> {
    this.#isLeaving = true;
    const giveUpAtMs = performance.now() + GIVE_UP_MS;
    while (performance.now() < giveUpAtMs && !this.#allKnow()) await delay(POLL_MS);
  }

  #noted(call: ServerInterceptingCallInterface): ServerInterceptingCall {
    let isEdge = false;
    return new ServerInterceptingCall(call, {
      start: (next) =>
        next({
          onReceiveMetadata(metadata, proceed) {
            isEdge = !isForwarded(metadata);
            proceed(metadata);
          },
          onReceiveMessage: (message, proceed) => {
            if (isEdge && (message as { service?: string }).service === TAKES_CALLS) this.#note(call.getPeer());
            proceed(message);
          },
        }),
    });
  }

  #note(peer: string): void {
    const askedAtMs = performance.now();
    const before = this.#askers.get(peer);
    const refusals = this.#isLeaving ? (before?.refusals ?? 0) + 1 : 0;
    const knowsSinceMs = before?.knowsSinceMs ?? (refusals === ANSWERS ? askedAtMs : undefined);
    this.#askers.set(peer, { askedAtMs, refusals, knowsSinceMs });
    for (const [other, asker] of this.#askers) if (isGone(asker)) this.#askers.delete(other);
  }

  #allKnow(): boolean {
    return [...this.#askers.values()].every(
      (asker) => isGone(asker) || performance.now() - (asker.knowsSinceMs ?? Infinity) > SETTLE_MS,
    );
  }
}

function isGone({ askedAtMs }: Asker): boolean {
  return performance.now() - askedAtMs > ASKS_MS;
}

/** Whether Envoy passes it on for a caller. */
function isForwarded(metadata: Metadata): boolean {
  return metadata.get('x-forwarded-for').length > 0;
}
