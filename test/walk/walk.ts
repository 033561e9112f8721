/**
 * The walk: an operation is run again and again. First nothing fails, then its first step, then its second, until none
 * is left, each in each way. What got no answer is sent again, as a client does. Whatever has failed, the run changes
 * and answers what the first one did, its events are there once, and the next run finds nothing of the failure.
 */
import type { ExecutionContext } from 'ava';
import type { TestServer } from '../support/service/server.ts';
import { until } from '../support/until.ts';
import { Caller, operationAt } from './caller.ts';
import { OPERATIONS, type WalkOperation } from './operations.ts';
import { normalized, Oracle } from './oracle.ts';
import type { Steps } from './steps.ts';

/** What lets a step of an engine fail. */
export interface Faults extends Pick<Steps, 'fail' | 'heal'> {
  readonly ways: readonly string[];
  /** The ways that may make an answer INTERNAL. */
  readonly internal: readonly string[];
  /** The ways in which several steps fail, one after the other: each may cost an answer. */
  readonly repeated?: readonly string[];
  /** Of how many steps one fails in `npm test`, where each takes long. */
  readonly stride?: number;
}

/** Set by scripts/walk.ts. Otherwise a step fails in one way, which the seed chooses; of many callers, a few steps. */
const { WALK_SEED = '57', WALK_ALL, WALK_PART = '1/1' } = process.env;
export const isCampaign = WALK_ALL !== undefined;
/** A campaign can be run in parts, each with other steps. */
const [part = 1, parts = 1] = WALK_PART.split('/').map(Number);

/** How steps are let fail. */
interface Walked {
  readonly ways: readonly string[];
  /** Whether each step fails in all ways in `npm test`, too. */
  readonly isWhole?: boolean;
  /** One of how many steps fails. */
  readonly stride?: number;
  /** Another one leads to other ways in `npm test`. */
  readonly shift?: number;
}

/** Lets one step fail after the other, until none is left: `run` resolves with whether it was. Resolves with counts. */
export async function walkSteps(
  { ways, isWhole = isCampaign, stride = 1, shift = 0 }: Walked,
  run: (step: number, way: string) => Promise<boolean>,
) {
  let [walked, failed] = [0, 0];
  for (let [step, isOver] = [(part - 1) * stride, false]; !isOver; step += parts * stride) {
    isOver = true;
    const one = ways[(step + shift + Number(WALK_SEED)) % ways.length] ?? '';
    for (const way of isWhole ? ways : [one]) if (await run(step, way)) [failed, isOver] = [failed + 1, false];
    if (!isOver) walked += 1;
  }
  return { walked, failed };
}

/** Walks operations of a server that has no other callers, and then compares its lists and its usage. */
export async function walkServer(
  t: ExecutionContext<unknown>,
  server: Pick<TestServer, 'address' | 'key' | 'operator'>,
  faults: Faults,
  operations: readonly WalkOperation[] = OPERATIONS,
): Promise<void> {
  const caller = new Caller(server.address, server.key);
  t.teardown(() => caller.close());
  const oracle = new Oracle(caller);
  const used = async () => (await server.operator.usage(1n)).reduce((sum, { requests }) => sum + requests, 0n);
  let [walked, failed] = [0, 0];
  for (const [index, operation] of operations.entries()) {
    const { outcome: expected, requests } = await run(operation, { caller, oracle, faults });
    const stride = isCampaign ? 1 : (faults.stride ?? requests);
    const counts = await walkSteps({ ways: faults.ways, stride, shift: index }, async (step, way) => {
      const where = `${operation.name}, ${way} at step ${step}`;
      const { outcome, hasFailed, steps } = await run(operation, { caller, oracle, faults }, { step, way }).catch(
        (cause: unknown) => Promise.reject(new Error(`${where}: ${cause}`, { cause })),
      );
      t.deepEqual(outcome, expected, `${where}\n${steps.join('\n')}`);
      return hasFailed;
    });
    [walked, failed] = [walked + counts.walked, failed + counts.failed];
  }
  await oracle.checkLists();
  await until(async () => (await used()) === BigInt(caller.counted), 'the usage').catch(() => undefined);
  t.is(await used(), BigInt(caller.counted), 'the usage');
  t.log(`${operations.length} operations, ${walked} steps, ${faults.ways.length} ways: ${failed} failures`);
  t.log(`${caller.counted} requests`);
}

async function run(
  { prepare }: WalkOperation,
  { caller, oracle, faults }: { readonly caller: Caller; readonly oracle: Oracle; readonly faults: Faults },
  fault?: { readonly step: number; readonly way: string },
) {
  const { cursor } = oracle;
  const requests = await prepare(caller, cursor);
  await oracle.catchUp();
  if (fault !== undefined) faults.fail(fault.step, fault.way);
  const answers = await Promise.all(requests.map((request) => caller.repeat(request)));
  const { hasFailed, steps } = faults.heal();
  const events = await oracle.catchUp();
  await oracle.checkResources(events);
  const final = requests.map((request, index) => {
    const all = answers[index] ?? [];
    const last = all.at(-1) ?? { code: '', body: undefined, isReplay: false };
    if (!faults.internal.includes(fault?.way ?? '') && all.some(({ code }) => code === 'INTERNAL')) {
      throw new Error(`${request.method} ${request.path} is INTERNAL\n${steps.join('\n')}`);
    }
    const isOnce = requests.length === 1 && !faults.repeated?.includes(fault?.way ?? '');
    if (isOnce && all.length > 2)
      throw new Error(`one failure costs ${all.length - 1} answers: ${JSON.stringify(all)}`);
    // Who repeats a DELETE that was carried out learns that it is gone.
    const isGone = request.method === 'DELETE' && all.length > 1 && last.code.endsWith('_NOT_FOUND');
    const { operation } = operationAt(request.method, request.path);
    return [operation, isGone ? { ...last, code: 'OK', body: {} } : last] as const;
  });
  return { outcome: normalized(events, final), hasFailed, steps, requests: requests.length };
}
