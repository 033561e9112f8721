/**
 * Metrics of calls, errors and bans. Labels are never text from a caller. A call whose caller has left counts as
 * CANCELLED: when Envoy hedges a read, the slower of the two calls is no failure.
 */
import { status as Status } from '@grpc/grpc-js';
import { Counter, Histogram, type Registry } from 'prom-client';
import { NAME } from '../../../identity.ts';
import { PLANS } from '../../config/plans.ts';
import type { Caller } from '../../rpc/caller.ts';
import type { Observer } from '../../rpc/chain.ts';

/** From well below the usual duration of a read to the deadline of a call. */
const CALL_SECONDS = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10];

const NO_PLAN = 'none';
const SERVER_FAULTS: readonly string[] = ['INTERNAL', 'UNAVAILABLE', 'DEADLINE_EXCEEDED'];

export type CallMetrics = ReturnType<typeof callMetrics>;

export function callMetrics(registry: Registry) {
  const registers = [registry];
  const counter = (name: string, help: string, ...labelNames: readonly string[]) =>
    new Counter({ name: `${NAME}_${name}`, help, labelNames, registers });
  const calls = counter('grpc_calls_total', 'Completed calls, by method and gRPC status code.', 'method', 'code');
  const durations = new Histogram({
    name: `${NAME}_grpc_call_duration_seconds`,
    help: 'Time from the headers of a call to its response, in the server. Streams are not in it.',
    labelNames: ['method'],
    buckets: CALL_SECONDS,
    registers,
  });
  const errors = counter('errors_total', 'Errors by public code; plan "none": no valid key.', 'reason', 'plan');
  const bans = counter('bans_total', 'Bans of keys that began on this server.', 'plan');
  // Prometheus sees an increase only of a series that exists: without the zeros it would miss the first ban and error.
  for (const plan of PLANS) bans.inc({ plan }, 0);
  for (const plan of [...PLANS, NO_PLAN]) for (const reason of SERVER_FAULTS) errors.inc({ reason, plan }, 0);
  const observe: Observer = ({ operation, caller }, { code, error, durationMs }) => {
    const method = operation.path.slice(1); // without the slash
    calls.inc({ method, code: Status[code] });
    // The caller of a stream decides how long it takes.
    if (!operation.isStream) durations.observe({ method }, durationMs / 1_000);
    if (code === Status.CANCELLED || error === undefined) return;
    const reason = code === Status.DEADLINE_EXCEEDED ? 'DEADLINE_EXCEEDED' : error.code;
    errors.inc({ reason, plan: caller?.plan ?? NO_PLAN });
  };
  return {
    observe,
    ban: ({ plan }: Caller) => bans.inc({ plan }),
  };
}
