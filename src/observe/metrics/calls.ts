/** Metrics of calls, errors and bans. Labels are methods, codes and plans, never text from a caller. */
import { status as Status } from '@grpc/grpc-js';
import { Counter, Histogram, type Registry } from 'prom-client';
import type { Caller, Plan } from '../../rpc/caller.ts';
import { FEED_ENDS } from '../../rpc/chain.ts';
import type { CallRecorder } from '../../rpc/interceptors/metrics.ts';

/** From well below the usual duration of a read to the deadline of a call. */
const CALL_SECONDS = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10];

const PLANS: readonly Plan[] = ['free', 'pro', 'business', 'enterprise'];
const NO_PLAN = 'none';
const SERVER_FAULTS: readonly string[] = ['INTERNAL', 'UNAVAILABLE', 'DEADLINE_EXCEEDED'];

export interface CallMetrics extends CallRecorder {
  /** A caller's key is banned from now on. */
  ban(caller: Caller): void;
}

export function callMetrics(registry: Registry): CallMetrics {
  const registers = [registry];
  const calls = new Counter({
    name: 'petstore_grpc_calls_total',
    help: 'Completed calls, by method and gRPC status code.',
    labelNames: ['method', 'code'],
    registers,
  });
  const durations = new Histogram({
    name: 'petstore_grpc_call_duration_seconds',
    help: 'Time from the headers of a call to its answer, in the server. Streams are not in it.',
    labelNames: ['method'],
    buckets: CALL_SECONDS,
    registers,
  });
  const errors = new Counter({
    name: 'petstore_errors_total',
    help: 'Calls that ended with an error, by its public code and by plan; plan "none" is without a valid API key.',
    labelNames: ['reason', 'plan'],
    registers,
  });
  const bans = new Counter({
    name: 'petstore_bans_total',
    help: 'Bans of keys that began on this server, by plan.',
    labelNames: ['plan'],
    registers,
  });
  const replays = new Counter({
    name: 'petstore_idempotent_replays_total',
    help: 'Calls that were answered from the record of an earlier one with the same Idempotency-Key.',
    registers,
  });
  const feeds = new Counter({
    name: 'petstore_event_streams_ended_total',
    help: 'Streams of events that ended. Only "error" is a fault.',
    labelNames: ['reason'],
    registers,
  });
  // Prometheus sees an increase only of a series that exists: without the zeros it would miss the first ban and error.
  for (const plan of PLANS) bans.inc({ plan }, 0);
  for (const plan of [...PLANS, NO_PLAN]) for (const reason of SERVER_FAULTS) errors.inc({ reason, plan }, 0);
  for (const reason of FEED_ENDS) feeds.inc({ reason }, 0);
  return {
    end({ path, code, seconds }) {
      const method = path.slice(1); // petstore.v1.PetService/GetPet
      calls.inc({ method, code: Status[code] });
      if (seconds !== undefined) durations.observe({ method }, seconds);
    },
    fail: (reason, caller) => errors.inc({ reason, plan: caller?.plan ?? NO_PLAN }),
    endFeed: (reason) => feeds.inc({ reason }),
    replay: () => replays.inc(),
    ban: ({ plan }) => bans.inc({ plan }),
  };
}
