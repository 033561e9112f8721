/** Clients that send one request after the other, with a short pause in between. All calls are recorded. */
import { setTimeout as delay } from 'node:timers/promises';
import { type Ask, grpcCaller, restCaller } from './calls.ts';
import { type Call, isTurnedAway, type Outcome, type Request, trueMs } from './history.ts';
import type { Random } from './random.ts';
import type { Workload } from './workload.ts';

/** Envoy ends a call after 15 seconds. */
const LONGEST_S = 20;
const GRPC_DEADLINE_MS = 30_000;

/** The longest pause of a client. */
const THINK_MS = 30;
const AFTER_FAILURE_MS = 300;
const AFTER_REFUSAL_MS = 500;

export interface Recorded {
  readonly calls: Call[];
  /** Responses that break the contract. */
  readonly breaches: string[];
}

interface Client extends Pick<Call, 'transport'> {
  readonly key: string;
  readonly random: Random;
}

/** Sends requests until `over` is aborted, and records them. */
export async function runClient(
  address: string,
  { transport, key, random }: Client,
  workload: Workload,
  { calls, breaches }: Recorded,
  over: AbortSignal,
): Promise<void> {
  const grpc = transport === 'gRPC' ? grpcCaller(address, key, GRPC_DEADLINE_MS) : undefined;
  const ask = grpc?.ask ?? restCaller(address, key);
  while (!over.aborted) {
    const request = workload.next(random);
    const startMs = trueMs();
    const outcome = await outcomeOf(ask, request, breaches);
    calls.push({ id: calls.length + 1, transport, request, startMs, endMs: trueMs(), outcome });
    workload.record(request, outcome);
    const longestMs =
      outcome.kind === 'unknown' ? AFTER_FAILURE_MS : isTurnedAway(outcome) ? AFTER_REFUSAL_MS : THINK_MS;
    await delay(random.int(1, longestMs), undefined, { signal: over }).catch(() => undefined);
  }
  grpc?.close();
}

async function outcomeOf(ask: Ask, request: Request, breaches: string[]): Promise<Outcome> {
  const over = new AbortController();
  const late = async () => {
    // Second by second: when the whole machine pauses, that counts as one, and is no fault of the service.
    for (let second = 0; second < LONGEST_S; second += 1) await delay(1_000, undefined, over);
    throw new Error(`no answer in ${LONGEST_S} s`);
  };
  try {
    return await Promise.race([ask(request), late()]);
  } catch (error) {
    breaches.push(`${JSON.stringify(request)}: ${(error as Error).message}`);
    return { kind: 'unknown', why: (error as Error).message };
  } finally {
    over.abort();
  }
}
