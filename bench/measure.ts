/**
 * Measures a row: short rounds, in turn over the ways that are compared, and the median of the rounds. A machine that is
 * busy for a while then disturbs all ways alike, and a single bad round decides nothing.
 */
import { availableParallelism } from 'node:os';
import { calibrate } from './calibration.ts';
import { sumOf } from './cpu.ts';
import { LoadFailed, type LoadGenerator, type Round, UNIQUE } from './load.ts';
import { median } from './numbers.ts';
import type { Progress } from './progress.ts';
import { type Request, type Row, type Way, waysOf } from './rows.ts';
import { type BenchStack, type Counted, PROGRAMS, type Program } from './stacks.ts';

export const ROUNDS = 5;
/** How long each way runs before its first round, per server: so that its code is compiled and its caches are filled. */
const WARM_UP_MS = 1_500;
/** How long each round runs before it is measured. */
const LEAD_IN_MS = 300;
/** Prepared requests of a round: many more than would stay hot anywhere. */
const REQUESTS = 16_384;
const MIN_REQUESTS_PER_CONNECTION = 64;

export interface Figures {
  readonly requestsPerSecond: number;
  readonly p50Ms: number;
  readonly p99Ms: number;
  /** Per request, in microseconds, of each program that is counted; undefined where the system doesn't say. */
  readonly programUs: ReadonlyMap<Program, number | undefined>;
  /** All of them together. */
  readonly cpuUs: number | undefined;
  /** How much of the machine other programs had: from 0 to 1. */
  readonly othersShare: number | undefined;
}

export interface Measured extends Figures {
  readonly row: Row;
  readonly way: Way;
  /** This way's CPU time divided by the floor's; undefined where there is none, and for the floor itself. */
  readonly toFloor: ToFloor | undefined;
  /** This way's CPU time divided by the first way's; undefined for the first itself. */
  readonly ratio: number | undefined;
  /** This way's CPU time less the first way's, in microseconds; undefined for the first itself. */
  readonly extraUs: number | undefined;
  readonly rounds: readonly Figures[];
}

export interface ToFloor {
  /** Server and Envoy together, and what databases there are. */
  readonly all: number;
  readonly server: number;
  readonly envoy: number;
}

export interface Setup {
  readonly load: LoadGenerator;
  readonly stackOf: (way: Way) => BenchStack;
  readonly connections: number;
  readonly instances: number;
  readonly seconds: number;
  readonly progress: Progress;
}

/** The figures of a row's ways, in the row's order. */
export async function measureRow(row: Row, setup: Setup): Promise<Measured[]> {
  const { progress, seconds, instances } = setup;
  const ways = waysOf(row);
  const rounds = new Map<Way, Figures[]>(ways.map((way) => [way, []]));
  for (const way of ways) {
    progress.update(`${row.name}, ${way.name}: warming up`);
    await probe(row, way, setup.stackOf(way));
    await runRound(row, way, setup, 0, WARM_UP_MS * instances);
  }
  for (let round = 0; round < ROUNDS; round += 1) {
    for (const way of rotated(ways, round)) {
      progress.update(`${row.name}, ${way.name}: round ${round + 1} of ${ROUNDS}`);
      calibrate();
      const done = await runRound(row, way, setup, LEAD_IN_MS, (seconds * 1000) / ROUNDS);
      rounds.get(way)?.push(toFigures(done, setup.stackOf(way).counted));
    }
  }
  const floor = [...rounds].find(([way]) => way.isFloor)?.[1];
  const first = [...rounds].find(([way]) => !way.isFloor)?.[1];
  return [...rounds].map(([way, own]) => ({
    row,
    way,
    ...medians(own),
    toFloor: toFloor(floor, own),
    ratio: way.isFloor ? undefined : compared(first, own, (cpuUs, firstUs) => cpuUs / firstUs),
    extraUs: way.isFloor ? undefined : compared(first, own, (cpuUs, firstUs) => cpuUs - firstUs),
    rounds: own,
  }));
}

/** Asks once, and looks at the answer: a fast wrong one must not pass for a good one. */
async function probe(row: Row, way: Way, { url, key }: BenchStack): Promise<void> {
  const { method, path, body } = row.request(way.pets);
  const response = await fetch(`${url}${path}`, { method, headers: headers(way, key, body), ...(body && { body }) });
  const text = await response.text();
  if (!response.ok) throw new LoadFailed(`${method} ${path} on ${way.name} was answered ${response.status}: ${text}`);
  if (!row.isRight(JSON.parse(text))) {
    throw new LoadFailed(`${method} ${path} on ${way.name} was answered, but not with what was asked for: ${text}`);
  }
}

async function runRound(row: Row, way: Way, setup: Setup, leadInMs: number, measureMs: number): Promise<Round> {
  const { load, connections, stackOf } = setup;
  const { url, key, counted } = stackOf(way);
  const count = connections * Math.max(MIN_REQUESTS_PER_CONNECTION, Math.ceil(REQUESTS / connections));
  const requests = Array.from({ length: count }, () => row.request(way.pets));
  const job = {
    url,
    headers: headers(way, key, requests[0]?.body),
    connections,
    requests,
    leadInMs,
    measureMs,
    counted,
  };
  try {
    return await load.run(job);
  } catch (error) {
    throw error instanceof LoadFailed ? new LoadFailed(`${row.name}, ${way.name}: ${error.message}`) : error;
  }
}

function headers({ hasIdempotencyKeys }: Way, key: string, body: Request['body']): Record<string, string> {
  return {
    authorization: `Bearer ${key}`,
    ...(body !== undefined && { 'content-type': 'application/json' }),
    ...(hasIdempotencyKeys && { 'idempotency-key': UNIQUE }),
  };
}

/** The ways from another one on each time: none is always the first or the last of a round. */
function rotated(ways: readonly Way[], by: number): Way[] {
  const start = by % ways.length;
  return [...ways.slice(start), ...ways.slice(0, start)];
}

function toFigures({ requests, seconds, p50Ms, p99Ms, cpuUs, othersUs }: Round, counted: Counted): Figures {
  const programs = PROGRAMS.filter((program) => counted[program] !== undefined);
  const programUs = new Map(programs.map((program) => [program, divided(cpuUs[program], requests)]));
  const wholeUs = seconds * 1_000_000 * availableParallelism();
  const othersShare = othersUs === undefined ? undefined : Math.max(0, othersUs / wholeUs);
  const allUs = sumOf([...programUs.values()]);
  return { requestsPerSecond: requests / seconds, p50Ms, p99Ms, programUs, cpuUs: allUs, othersShare };
}

function divided(total: number | undefined, by: number): number | undefined {
  return total === undefined ? undefined : total / by;
}

function medians(rounds: readonly Figures[]): Figures {
  const ofAll = (values: readonly (number | undefined)[]) => {
    const known = values.filter((value) => value !== undefined);
    return known.length === values.length ? median(known) : undefined;
  };
  const programs = [...(rounds[0]?.programUs.keys() ?? [])];
  return {
    requestsPerSecond: median(rounds.map((round) => round.requestsPerSecond)),
    p50Ms: median(rounds.map((round) => round.p50Ms)),
    p99Ms: median(rounds.map((round) => round.p99Ms)),
    programUs: new Map(
      programs.map((program) => [program, ofAll(rounds.map((round) => round.programUs.get(program)))]),
    ),
    cpuUs: ofAll(rounds.map((round) => round.cpuUs)),
    othersShare: ofAll(rounds.map((round) => round.othersShare)),
  };
}

function toFloor(floor: readonly Figures[] | undefined, own: readonly Figures[]): ToFloor | undefined {
  const divide = (us: number, floorUs: number) => us / floorUs;
  const all = compared(floor, own, divide);
  const [server, envoy] = (['server', 'envoy'] as const).map((program) =>
    compared(floor, own, divide, ({ programUs }) => programUs.get(program)),
  );
  return all === undefined || server === undefined || envoy === undefined ? undefined : { all, server, envoy };
}

/** The median of the rounds, each compared with its neighbour in time. Undefined for the first way itself. */
function compared(
  first: readonly Figures[] | undefined,
  own: readonly Figures[],
  compare: (us: number, firstUs: number) => number,
  figure: (round: Figures) => number | undefined = ({ cpuUs }) => cpuUs,
): number | undefined {
  if (first === undefined || first === own) return undefined;
  const found = own.flatMap((figures, round) => {
    const [us, firstUs] = [figures, first[round]].map((each) => each && figure(each));
    return us === undefined || firstUs === undefined ? [] : [compare(us, firstUs)];
  });
  return found.length === 0 ? undefined : median(found);
}
