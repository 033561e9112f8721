/** The health service (https://github.com/grpc/grpc/blob/master/doc/health-checking.md), for named services. */
import { status as Code } from '@grpc/grpc-js';
import {
  type HealthCheckResponse,
  type HealthServer,
  HealthCheckResponse_ServingStatus as Status,
} from '../../../gen/grpc/health/v1/health.ts';
import { errorSaying } from '../errors.ts';
import type { Call } from './chain.ts';
import type { Service } from './methods.ts';

/** The services of these names exist, and none serves yet. `onCheck` is called for each Check. */
export function createHealth(names: readonly string[], onCheck: (name: string, call: Call) => void) {
  const statuses = new Map<string, Status>();
  /** Those who wait for a change. */
  const watchers = new Set<() => void>();
  const statusOf = (name: string) => statuses.get(name) ?? Status.SERVICE_UNKNOWN;

  /** Resolves with true when the status is another one, and with false when the call is closed. */
  const changed = (call: Call, name: string, from: Status): Promise<boolean> => {
    const { promise, resolve } = Promise.withResolvers<boolean>();
    const watcher = () => statusOf(name) !== from && resolve(true);
    watchers.add(watcher);
    call.onClose(() => resolve(false));
    watcher();
    return promise.finally(() => watchers.delete(watcher));
  };

  const set = (changedNames: readonly string[], isServing: boolean) => {
    for (const name of changedNames) statuses.set(name, isServing ? Status.SERVING : Status.NOT_SERVING);
    for (const watcher of watchers) watcher();
  };
  set(names, false);

  const service: Service<HealthServer, Call> = {
    async check({ service }, call) {
      onCheck(service, call);
      const status = statusOf(service);
      if (status !== Status.SERVICE_UNKNOWN) return { status };
      throw errorSaying('ROUTE_NOT_FOUND', `there is no service ${service}`, { grpcStatus: Code.NOT_FOUND });
    },

    list: async () => ({
      statuses: Object.fromEntries([...statuses].map(([name, status]) => [name, { status }])),
    }),

    async *watch({ service }, call): AsyncIterable<HealthCheckResponse> {
      let status: Status;
      do {
        status = statusOf(service);
        yield { status };
      } while (await changed(call, service, status));
    },
  };
  return { service, set };
}
