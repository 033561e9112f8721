/** The health service (https://github.com/grpc/grpc/blob/master/doc/health-checking.md), for named services. */
import { status as Code } from '@grpc/grpc-js';
import {
  type HealthCheckResponse,
  type HealthServer,
  HealthCheckResponse_ServingStatus as Status,
} from '../../gen/grpc/health/v1/health.ts';
import { ApiError } from '../errors.ts';
import type { Call } from '../interceptors/chain.ts';
import type { Service } from '../services/service.ts';

export class Health {
  readonly #serving: Map<string, boolean>;
  /** Those who wait for a change. */
  readonly #watchers = new Set<() => void>();

  /** These services exist. None of them serves yet. */
  constructor(names: readonly string[]) {
    this.#serving = new Map(names.map((name) => [name, false]));
  }

  set(names: readonly string[], isServing: boolean): void {
    for (const name of names) this.#serving.set(name, isServing);
    for (const watcher of this.#watchers) watcher();
  }

  /** The methods of the service. `onCheck` is called for each Check. */
  service(onCheck: (name: string, call: Call) => void): Service<HealthServer, Call> {
    return {
      check: async ({ service }, call) => {
        onCheck(service, call);
        const status = this.#statusOf(service);
        if (status === Status.SERVICE_UNKNOWN) throw unknown(service);
        return { status };
      },
      list: async () => ({
        statuses: Object.fromEntries([...this.#serving.keys()].map((name) => [name, { status: this.#statusOf(name) }])),
      }),
      watch: ({ service }, call) => this.#watch(service, call),
    };
  }

  async *#watch(name: string, call: Call): AsyncIterable<HealthCheckResponse> {
    let sent: Status | undefined;
    do {
      const status = this.#statusOf(name);
      if (status !== sent) yield { status };
      sent = status;
    } while (await this.#change(call, () => this.#statusOf(name) !== sent));
  }

  #statusOf(name: string): Status {
    const isServing = this.#serving.get(name);
    if (isServing === undefined) return Status.SERVICE_UNKNOWN;
    return isServing ? Status.SERVING : Status.NOT_SERVING;
  }

  /** Resolves with true at a change, and with false when the call is closed. */
  #change(call: Call, hasChanged: () => boolean): Promise<boolean> {
    if (hasChanged()) return Promise.resolve(true);
    const { promise, resolve } = Promise.withResolvers<boolean>();
    const watcher = () => resolve(true);
    this.#watchers.add(watcher);
    call.onClose(() => resolve(false));
    return promise.finally(() => this.#watchers.delete(watcher));
  }
}

function unknown(service: string): ApiError {
  return new ApiError('ROUTE_NOT_FOUND', `there is no service ${service}`, { grpcStatus: Code.NOT_FOUND });
}
