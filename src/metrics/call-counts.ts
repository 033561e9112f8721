/**
 * Completed calls by method and status. These are plain numbers, which prom-client reads at a scrape: its own counters
 * build a string of the labels for every call.
 */
import { status as Status } from '@grpc/grpc-js';

/** gRPC's status codes are 0 to 16. */
const CODES = 17;

/** The calls of one method. */
class MethodCounts {
  readonly labels: { readonly method: string };
  readonly byCode = new Array<number>(CODES).fill(0);

  constructor(path: string) {
    this.labels = { method: path.slice(1) }; // petstore.v1.PetService/GetPet
  }

  end(code: Status): void {
    this.byCode[code] = (this.byCode[code] ?? 0) + 1;
  }
}

export class CallCounts {
  /** Contains the methods that have been called. */
  readonly #byPath = new Map<string, MethodCounts>();

  of(path: string): MethodCounts {
    let counts = this.#byPath.get(path);
    if (counts === undefined) {
      counts = new MethodCounts(path);
      this.#byPath.set(path, counts);
    }
    return counts;
  }

  /** Yields the count of each method and status with calls. */
  *all(): Generator<{ readonly labels: { method: string; code: string }; readonly calls: number }> {
    for (const { labels, byCode } of this.#byPath.values()) {
      for (const [code, calls] of byCode.entries()) {
        if (calls > 0) yield { labels: { ...labels, code: Status[code] ?? '' }, calls };
      }
    }
  }
}
