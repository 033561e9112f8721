/**
 * The numbers of the metrics of a server: each is checked after the event that it counts, in this order. And what each
 * end of a call counts.
 */
import { status as Status } from '@grpc/grpc-js';
import anyTest from 'ava';
import { Registry } from 'prom-client';
import { AdminServiceService as Admin, Plan } from '../../../gen/apiplatform/admin/v1/admin.ts';
import { HealthService } from '../../../gen/grpc/health/v1/health.ts';
import { PetServiceService as Pets } from '../../../gen/petstore/v1/pets.ts';
import { anyError, type ErrorCode } from '../../../scripts/openapi/error-table.ts';
import { callMetrics } from '../../../src/platform/observe/metrics/calls.ts';
import type { End } from '../../../src/platform/rpc/chain.ts';
import { watchEvents } from '../../support/calls/event-source.ts';
import { freePorts } from '../../support/scope.ts';
import { newCall } from '../../support/service/call.ts';
import { samplesOf, scrape, sumOf, untilSum } from '../../support/service/exposition.ts';
import { startTestServer } from '../../support/service/server.ts';
import { sharing } from '../../support/service/sharing.ts';
import { withinOneMinute } from '../../support/until.ts';

const [OPEN, CALLS, ERRORS] = ['petstore_grpc_open_calls', 'petstore_grpc_calls_total', 'petstore_errors_total'];
const WATCHES = { method: 'petstore.v1.EventService/WatchEvents' };
const UNKNOWN_PET = { petId: 999n };

const test = sharing(undefined, async (t) => {
  const [port = 0] = await freePorts(1);
  const limits = { FREE_PER_MINUTE: '5', BAN_REFUSALS: '3', BAN_GRACE_SECONDS: '0' };
  const server = await startTestServer(t, { METRICS_PORT: String(port), ...limits });
  return { server, port, operator: server.operator };
});

test.serial('Calls - of methods that do not exist are counted as "unknown"', async (t) => {
  const { server, port } = t.context;
  for (const path of ['/a.b.C/D', '/petstore.v1.PetService/Nothing'])
    await server.grpc.failure({ ...HealthService.check, path }, { service: '' });
  await t.notThrowsAsync(untilSum(port, CALLS, { method: 'unknown', code: 'UNIMPLEMENTED' }, (sum) => sum === 2));
});

test.serial('Audit - each call without the operator key is counted as an error, logged or not', async (t) => {
  const { server, port } = t.context;
  for (let sent = 0; sent < 25; sent += 1) await server.grpc.failure(Admin.listAccounts, {});
  await untilSum(port, ERRORS, { reason: 'OPERATOR_KEY_INVALID', plan: 'none' }, (sum) => sum === 25);
  t.is(server.logs.filter(({ msg }) => msg === 'refused: not the operator').length, 20);
});

test.serial('Bans - are counted by plan, as what was refused is by code', async (t) => {
  const { server, port, operator } = t.context;
  const caller = server.grpc.withKey(await operator.keyOf(Plan.PLAN_FREE));
  await withinOneMinute(5_000);
  // Five calls are admitted, three are refused (the third begins a ban), and two are banned.
  for (let sent = 0; sent < 10; sent += 1) await caller.failure(Pets.getPet, UNKNOWN_PET);
  await untilSum(port, ERRORS, { reason: 'API_KEY_BANNED', plan: 'free' }, (sum) => sum === 2);
  t.is(sumOf(await scrape(port), 'petstore_bans_total', { plan: 'free' }), 1);
});

test.serial('Events - open streams are shown; those that ended are counted as calls, and as no errors', async (t) => {
  const { server, port, operator } = t.context;
  const errors = sumOf(await scrape(port), ERRORS);
  const { id, key } = await operator.key((await operator.account({ perMinute: 100, perDay: 100 })).id);
  const [left] = [server.key, key].map((each) => watchEvents(server.address, each));
  await untilSum(port, OPEN, { kind: 'feed' }, (sum) => sum === 2);
  left?.close();
  watchEvents(server.address, server.key, { timeoutMs: 1_000 });
  await operator.call(Admin.revokeKey, { keyId: id });
  await untilSum(port, CALLS, WATCHES, (sum) => sum === 3);
  const text = await scrape(port);
  t.is(sumOf(text, CALLS, { ...WATCHES, code: 'UNAVAILABLE' }), 1); // whose key was revoked
  t.is(sumOf(text, ERRORS), errors);
});

test.serial('Labels - hold no key, account or address', async (t) => {
  const { server, port } = t.context;
  await server.grpc.category();
  await server.grpc.withKey('pst_somebody').failure(Pets.getPet, UNKNOWN_PET);
  await untilSum(port, ERRORS, { reason: 'API_KEY_INVALID', plan: 'none' }, (sum) => sum === 1);
  const labels = [...(await scrape(port)).matchAll(/(\w+)="/g)].map(([, label]) => label);
  const known = ['method', 'code', 'kind', 'reason', 'plan', 'le', 'version', 'node', 'space'];
  const others = [...new Set(labels)].filter((label) => !known.includes(label ?? ''));
  t.deepEqual(others, []);
});

const GET_PET = 'PetService/GetPet';

/** The samples that a call of 1.5 seconds makes more than 0, as `name label label`; how many have a duration. */
async function counted(how: Partial<End>, path = GET_PET): Promise<string[]> {
  const registry = new Registry();
  callMetrics(registry).observe(newCall(path), { code: Status.OK, error: undefined, durationMs: 1_500, ...how });
  return samplesOf(await registry.metrics())
    .filter(({ name, value }) => value > 0 && !/_(bucket|count)$/.test(name))
    .map(({ name, labels, value }) =>
      [name.slice('petstore_'.length), ...Object.values(labels), ...(value === 1 ? [] : [value])].join(' '),
    );
}

anyTest('Metrics - count a call by its method and status, and an error by its public code', async (t) => {
  const failed = (code: ErrorCode, grpcStatus?: Status): Partial<End> => {
    const error = anyError(code, { petId: 1n });
    return { code: grpcStatus ?? error.grpcStatus, error };
  };
  const called = (code: string) => `grpc_calls_total petstore.v1.${GET_PET} ${code}`;
  const took = `grpc_call_duration_seconds_sum petstore.v1.${GET_PET} 1.5`;
  const missing = [called('NOT_FOUND'), took, 'errors_total PET_NOT_FOUND none'];
  t.deepEqual(await counted(failed('PET_NOT_FOUND')), missing);
  const left = failed('DEADLINE_EXCEEDED', Status.CANCELLED);
  t.deepEqual(await counted(left), [called('CANCELLED'), took], 'who has left has no error');
  const late = [called('DEADLINE_EXCEEDED'), took, 'errors_total DEADLINE_EXCEEDED none'];
  t.deepEqual(await counted(failed('UNAVAILABLE', Status.DEADLINE_EXCEEDED)), late, 'whatever the outcome');
  const watch = 'grpc.health.v1.Health/Watch';
  t.deepEqual(await counted({}, `/${watch}`), [`grpc_calls_total ${watch} OK`], 'a stream has no duration');
});

anyTest('Metrics - bans and faults are 0 from the beginning, so that the first one is an increase', async (t) => {
  const registry = new Registry();
  callMetrics(registry);
  const samples = samplesOf(await registry.metrics());
  const zeros = (name: string) => samples.filter((one) => one.name === `petstore_${name}` && one.value === 0).length;
  t.deepEqual([zeros('bans_total'), zeros('errors_total')], [4, 5 * 3]); // of plans, and faults with a plan or without
});
