/**
 * The health service (https://github.com/grpc/grpc/blob/master/doc/health-checking.md), for named services, and for the
 * readiness of this server, which every edge reads twice a second. While the server drains it is NOT_SERVING, and the
 * server still serves: an edge that has seen that twice sends it no new calls.
 */
import { setTimeout as delay } from 'node:timers/promises';
import { status as Code } from '@grpc/grpc-js';
import {
  type HealthCheckResponse,
  type HealthServer,
  HealthCheckResponse_ServingStatus as Status,
} from '../../../gen/grpc/health/v1/health.ts';
import { EDGES_KNOW_MS } from '../config/times.ts';
import { READINESS_SERVICE } from '../edge-headers.ts';
import { errorSaying } from '../errors.ts';
import type { Call } from './chain.ts';
import type { Service } from './methods.ts';

/** The services of these names exist, and none serves yet. */
export function createHealth(names: readonly string[]) {
  let checkedAtMs = Number.NEGATIVE_INFINITY;
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
    async check({ service }, { source }) {
      // Not those that Envoy forwards for a caller.
      if (service === READINESS_SERVICE && source === 'edge') checkedAtMs = performance.now();
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

  /** Resolves when every edge has seen that this server takes no calls; at once when no edge checks it. */
  const seenByEdges = async () => {
    // The timer keeps no process alive: a server that has stopped meanwhile is checked no more, and ends at once.
    if (performance.now() - checkedAtMs < EDGES_KNOW_MS) await delay(EDGES_KNOW_MS, undefined, { ref: false });
  };
  return { service, set, seenByEdges };
}
