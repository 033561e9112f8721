/** Measures how much the service can take, then offers multiples of that. */
import { formatCount } from '../test/support/numbers.ts';
import { until } from '../test/support/until.ts';
import type { Job, LoadGenerator, Outcome } from './load.ts';
import { rawRequests } from './measure.ts';
import type { Options } from './overload.ts';
import type { Progress } from './progress.ts';
import { GET, HUNDRED_THOUSAND, POST, type Scenario } from './scenarios.ts';
import type { ServiceStack } from './stacks.ts';

/** Fractions of the capacity, for latency as callers see it, and multiples. */
const TIMES = [0.25, 0.5, 0.75, 1, 2, 5, 10];
export const CAPACITY_CLIENTS = 64;
/** The number of clients that come at once and obey Retry-After. */
export const CLIENTS = 2_000;
const WARM_UP_MS = 2_000;
const LEAD_IN_MS = 1_000;
const REQUESTS = 4_096;
/** A response is normal when it is a 2xx within this time. */
const NORMAL_MS = 100;
/** The service has recovered after so many normal responses in a row. */
const NORMAL_RESPONSES = 20;
const MAX_RECOVERY_MS = 20_000;

export interface Offered {
  readonly scenario: Scenario;
  readonly times: number;
  readonly perSecond: number;
  readonly outcome: Outcome;
  /** Seconds after the load until responses were normal again; undefined when they were not in time. */
  readonly recoveryS: number | undefined;
  /** Health checks of Envoy that the server failed meanwhile. */
  readonly failedChecks: number;
}

export interface OverloadResults {
  readonly capacities: ReadonlyMap<Scenario, Outcome>;
  readonly offered: readonly Offered[];
  readonly clients: Outcome;
}

interface Setup extends Options {
  readonly stack: ServiceStack;
  readonly load: LoadGenerator;
  readonly progress: Progress;
}

export async function measureOverload(setup: Setup): Promise<OverloadResults> {
  const { progress, seconds, connections, stack } = setup;
  const capacities = new Map<Scenario, Outcome>();
  const offered: Offered[] = [];
  for (const scenario of [GET, POST]) {
    progress.update(`${scenario.name}: measuring the capacity`);
    const capacity = await generate(scenario, setup, { connections: CAPACITY_CLIENTS, leadInMs: WARM_UP_MS });
    capacities.set(scenario, capacity);
    for (const times of TIMES) {
      progress.update(`${scenario.name}: ${times} times the capacity`);
      const perSecond = times * capacity.ok.perSecond;
      const before = await failedHealthChecks(stack);
      const outcome = await generate(scenario, setup, { connections, perSecond, leadInMs: LEAD_IN_MS });
      const failedChecks = (await failedHealthChecks(stack)) - before;
      offered.push({ scenario, times, perSecond, outcome, failedChecks, recoveryS: await recover(stack) });
    }
  }
  progress.update(`${formatCount(CLIENTS)} clients at once`);
  const clients = await generate(GET, setup, { connections: CLIENTS, measureMs: 2_000 * seconds });
  return { capacities, offered, clients };
}

function generate(
  scenario: Scenario,
  { stack, load, seconds }: Setup,
  job: Pick<Job, 'connections'> & Partial<Job>,
): Promise<Outcome> {
  const { target, counted } = stack;
  const requests = rawRequests(REQUESTS, scenario, HUNDRED_THOUSAND, stack);
  return load.run({ target, counted, requests, leadInMs: 0, measureMs: 1_000 * seconds, ...job });
}

async function recover({ url, key }: ServiceStack): Promise<number | undefined> {
  const headers = { authorization: `Bearer ${key}` };
  const startMs = performance.now();
  let recoveredAtMs = startMs;
  let normal = 0;
  const hasRecovered = async () => {
    const sentAtMs = performance.now();
    const isOk = await fetch(`${url}/pets/1`, { headers }).then(
      async (response) => (await response.text()) && response.ok,
    );
    const endMs = performance.now();
    normal = isOk && endMs - sentAtMs < NORMAL_MS ? normal + 1 : 0;
    if (normal === 0) recoveredAtMs = endMs;
    return normal === NORMAL_RESPONSES;
  };
  const isInTime = await until(hasRecovered, 'recovery', MAX_RECOVERY_MS).catch(() => false);
  return isInTime ? (recoveredAtMs - startMs) / 1_000 : undefined;
}

async function failedHealthChecks({ adminUrl }: ServiceStack): Promise<number> {
  const response = await fetch(`${adminUrl}/stats?filter=^cluster\\.petstore\\.health_check\\.failure$`);
  return Number((await response.text()).split(': ')[1]);
}
