/** Clients that send one request after the other, with a short pause in between. All calls are recorded. */
import { setTimeout as delay } from 'node:timers/promises';
import { type Ask, overGrpc, overRest } from './calls.ts';
import { type Call, isTurnedAway, type Outcome, type Request, trueMs } from './history.ts';
import type { Random } from './random.ts';
import type { Workload } from './workload.ts';

/** More than any call may take. */
const TIMEOUT_MS = 30_000;

/** The longest pause of a client. */
const THINK_MS = 30;
const AFTER_FAILURE_MS = 300;
const AFTER_REFUSAL_MS = 500;

export interface Caller {
  readonly account: string;
  call(request: Request): Promise<Outcome>;
  close(): void;
}

/** Records all requests and responses. */
export class Recorder {
  readonly calls: Call[] = [];
  /** Responses that break the contract. */
  readonly breaches: string[] = [];
  readonly #address: string;
  #count = 0;

  constructor(publicAddress: string) {
    this.#address = publicAddress;
  }

  /** A caller whose calls are recorded. */
  caller(transport: Call['transport'], account: string, key: string): Caller {
    const grpc = transport === 'gRPC' ? overGrpc(this.#address, key, TIMEOUT_MS) : undefined;
    const ask = grpc?.ask ?? overRest(this.#address, key);
    return {
      account,
      call: async (request) => {
        this.#count += 1;
        const id = this.#count;
        const startMs = trueMs();
        const outcome = await this.#ask(ask, request);
        this.calls.push({ id, transport, account, request, startMs, endMs: trueMs(), outcome });
        return outcome;
      },
      close: () => grpc?.close(),
    };
  }

  async #ask(ask: Ask, request: Request): Promise<Outcome> {
    const over = new AbortController();
    const late = delay(TIMEOUT_MS, { kind: 'unknown', why: `no answer in ${TIMEOUT_MS / 1_000} s` } as const, over);
    try {
      return await Promise.race([ask(request), late]);
    } catch (error) {
      this.breaches.push(`${JSON.stringify(request)}: ${(error as Error).message}`);
      return { kind: 'unknown', why: (error as Error).message };
    } finally {
      over.abort();
      late.catch(() => undefined);
    }
  }
}

/** Sends requests until `over` is aborted. */
export async function runClient(caller: Caller, workload: Workload, random: Random, over: AbortSignal): Promise<void> {
  while (!over.aborted) {
    const request = workload.next(random);
    const outcome = await caller.call(request);
    workload.record(request, outcome);
    const longestMs =
      outcome.kind === 'unknown' ? AFTER_FAILURE_MS : isTurnedAway(outcome) ? AFTER_REFUSAL_MS : THINK_MS;
    await delay(random.int(1, longestMs), undefined, { signal: over }).catch(() => undefined);
  }
}
