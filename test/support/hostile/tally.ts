/** The outcomes of an attack's requests. */
import { quantile } from '../numbers.ts';

/** A tally that can be sent to another process. */
export interface Outcomes {
  /** The number of requests by outcome: a status, `grpc-status 16`, `closed`. */
  readonly counts: Readonly<Record<string, number>>;
  /** Durations of the requests that ended, by outcome. */
  readonly p50Ms: Readonly<Record<string, number>>;
  readonly p99Ms: Readonly<Record<string, number>>;
  readonly total: number;
}

/** The most durations that are kept of each outcome. */
const MAX_TIMES = 50_000;

export class Tally {
  readonly #counts = new Map<string, number>();
  readonly #timesMs = new Map<string, number[]>();

  add(outcome: string, tookMs: number): void {
    this.#counts.set(outcome, (this.#counts.get(outcome) ?? 0) + 1);
    const times = this.#timesMs.get(outcome) ?? [];
    if (times.length < MAX_TIMES) times.push(tookMs);
    this.#timesMs.set(outcome, times);
  }

  /** Starts a request. The returned function ends it, once. */
  start(): (outcome: string) => void {
    const startedAtMs = performance.now();
    let isOver = false;
    return (outcome) => {
      if (!isOver) this.add(outcome, performance.now() - startedAtMs);
      isOver = true;
    };
  }

  get outcomes(): Outcomes {
    const sorted = [...this.#timesMs].map(([outcome, times]) => [outcome, times.toSorted((a, b) => a - b)] as const);
    const at = (share: number) => Object.fromEntries(sorted.map(([name, times]) => [name, quantile(times, share)]));
    const counts = Object.fromEntries(this.#counts);
    return { counts, p50Ms: at(0.5), p99Ms: at(0.99), total: Object.values(counts).reduce((a, b) => a + b, 0) };
  }
}

/** The sum of several attackers' outcomes, with the longest durations. */
export function sumOutcomes(all: readonly Outcomes[]): Outcomes {
  return {
    counts: merge(
      all,
      ({ counts }) => counts,
      (a, b) => a + b,
    ),
    p50Ms: merge(all, ({ p50Ms }) => p50Ms, Math.max),
    p99Ms: merge(all, ({ p99Ms }) => p99Ms, Math.max),
    total: all.reduce((sum, { total }) => sum + total, 0),
  };
}

function merge(
  all: readonly Outcomes[],
  part: (outcomes: Outcomes) => Readonly<Record<string, number>>,
  join: (a: number, b: number) => number,
): Record<string, number> {
  const joined: Record<string, number> = {};
  for (const outcomes of all) {
    for (const [name, value] of Object.entries(part(outcomes))) {
      const before = joined[name];
      joined[name] = before === undefined ? value : join(before, value);
    }
  }
  return joined;
}
