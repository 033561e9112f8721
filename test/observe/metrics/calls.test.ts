import { status as Status } from '@grpc/grpc-js';
import test from 'ava';
import { Registry } from 'prom-client';
import { anyError, type ErrorCode } from '../../../scripts/openapi/error-table.ts';
import { callMetrics } from '../../../src/platform/observe/metrics/calls.ts';
import { type Caller, toAccountId, toKeyId } from '../../../src/platform/rpc/caller.ts';
import type { End } from '../../../src/platform/rpc/chain.ts';
import { newCall } from '../../support/service/call.ts';
import { samplesOf } from '../../support/service/exposition.ts';

const quota = { perMinute: 1, perDay: 1 };
const CALLER: Caller = { keyId: toKeyId(1n), accountId: toAccountId(7n), plan: 'pro', quota };
const GET_PET = 'PetService/GetPet';

interface HowItEnded extends Partial<End> {
  readonly path?: string;
  readonly caller?: Caller;
}

/** The samples that a call of 1.5 seconds makes more than 0, as `name label label`; how many have a duration. */
async function counted({ path = GET_PET, caller, ...how }: HowItEnded): Promise<string[]> {
  const registry = new Registry();
  const call = newCall(path);
  if (caller !== undefined) call.caller = caller;
  callMetrics(registry).observe(call, { code: Status.OK, error: undefined, durationMs: 1_500, ...how });
  return samplesOf(await registry.metrics())
    .filter(({ name, value }) => value > 0 && !/_(bucket|count)$/.test(name))
    .map(({ name, labels, value }) =>
      [name.slice('petstore_'.length), ...Object.values(labels), ...(value === 1 ? [] : [value])].join(' '),
    );
}

const failed = (code: ErrorCode): Partial<End> => {
  const error = anyError(code, { petId: 1n });
  return { code: error.grpcStatus, error };
};
const called = (code: string) => `grpc_calls_total petstore.v1.${GET_PET} ${code}`;
const took = `grpc_call_duration_seconds_sum petstore.v1.${GET_PET} 1.5`;

const CASES: readonly (readonly [title: string, how: HowItEnded, expected: readonly string[]])[] = [
  [
    'an error, by status, public code and plan',
    { ...failed('PET_NOT_FOUND'), caller: CALLER },
    [called('NOT_FOUND'), took, 'errors_total PET_NOT_FOUND pro'],
  ],
  [
    'a call whose caller has left, as CANCELLED and no error',
    { ...failed('DEADLINE_EXCEEDED'), code: Status.CANCELLED },
    [called('CANCELLED'), took],
  ],
  [
    'a call after its deadline, as DEADLINE_EXCEEDED whatever its outcome',
    { ...failed('UNAVAILABLE'), code: Status.DEADLINE_EXCEEDED },
    [called('DEADLINE_EXCEEDED'), took, 'errors_total DEADLINE_EXCEEDED none'],
  ],
  [
    'a stream, without a duration',
    { path: '/grpc.health.v1.Health/Watch' },
    ['grpc_calls_total grpc.health.v1.Health/Watch OK'],
  ],
];
for (const [title, how, expected] of CASES) {
  test(`Metrics - count ${title}`, async (t) => t.deepEqual(await counted(how), expected));
}

test('Metrics - bans and faults are 0 from the beginning, so that the first one is an increase', async (t) => {
  const registry = new Registry();
  callMetrics(registry);
  const samples = samplesOf(await registry.metrics());
  const zeros = (name: string) => samples.filter((one) => one.name === `petstore_${name}` && one.value === 0).length;
  t.deepEqual([zeros('bans_total'), zeros('errors_total')], [4, 5 * 3]); // of plans, and faults with a plan or without
});
