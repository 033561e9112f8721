/**
 * The walk of fail-overs: while one happens, callers write with their keys and read what was acknowledged, from every
 * server, and followers stay, or leave and come back. Then what all of them have seen is held against what is stored,
 * and against what the page says that it costs.
 */
import assert from 'node:assert/strict';
import { monitorEventLoopDelay } from 'node:perf_hooks';
import { setTimeout as delay } from 'node:timers/promises';
import type { ExecutionContext } from 'ava';
import { until } from '../support/until.ts';
import { Account, Follower, Seen } from './failover-callers.ts';
import { type Machines, startWorld, type World } from './failover-world.ts';
import type { FailOver, Scene } from './failovers.ts';
import { isCampaign } from './walk.ts';

const [SERVERS, ACCOUNTS, READERS, PERIOD_MS] = [isCampaign ? 3 : 2, 8, 4, 150];
const MAX = 1_000_000;
/** How long an answer may take on a quiet machine: Envoy would have given up. With Redis away, a command's time. */
const SLOWEST_MS = { exact: 15_000, alone: 3_000 };
/** When a follower comes back, and how many events another one waits for. */
const [LATE_MS, MANY] = [isCampaign ? 60_000 : 3_000, 1_000];
const LONG_MS = 60_000;

/** Lets a fail-over happen. Throws if a promise does not hold. */
export async function walkFailOver(t: ExecutionContext, machines: Machines, failOver: FailOver) {
  const world = await startWorld(t, machines, SERVERS, failOver.through ?? 'address');
  const seen = new Seen();
  const newAccount = async () => {
    const key = await world.servers[0]?.operator.keyOf({ perMinute: MAX, perDay: MAX });
    const account = new Account(world, seen, key ?? '');
    t.teardown(() => account.close());
    return account;
  };
  const reader = await newAccount();
  const writers = await Promise.all(Array.from({ length: ACCOUNTS }, newAccount));
  const [stop, over, loop] = [new AbortController(), new AbortController(), monitorEventLoopDelay({ resolution: 10 })];
  const running: Promise<unknown>[] = [];
  const run = (work: Promise<unknown>) => {
    running.push(work);
    work.catch(() => stop.abort());
  };
  const start = (work: () => Promise<unknown>) => {
    const repeat = async () => {
      for (; !stop.signal.aborted; await delay(PERIOD_MS)) await work();
    };
    run(repeat());
  };
  loop.enable();
  for (let server = 0; server < SERVERS; server += 1) {
    for (const account of writers) start(() => account.write(server, stop.signal));
    for (let count = 0; count < READERS; count += 1) start(() => reader.read(server));
  }
  const callers = [...running];
  const names = ['who stays', 'who comes back', 'who comes late', 'who comes later'];
  const followers = names.map((name, index) => new Follower(name, world, reader, index));
  const [, comesBack, comesLate, comesLater] = followers as [Follower, Follower, Follower, Follower];
  for (const follower of followers) run(follower.follow(over.signal));
  /** Waits until every follower has seen what is stored now. */
  const arrived = async (isOver = () => false) => {
    const [row] = await world.query('SELECT max(id) AS newest FROM events');
    const isThere = ({ cursor = 0n }: Follower) => cursor >= BigInt(String(row?.newest));
    await until(() => isOver() || followers.every(isThere), 'all events', LONG_MS);
  };
  /** Waits for more of something, unless a promise has been broken. */
  const more = async (what: string, count: () => number, by: number) => {
    const least = count() + by;
    await until(() => stop.signal.aborted || count() >= least, what, LONG_MS);
    stop.signal.throwIfAborted();
  };
  const scene: Scene = {
    world,
    machines,
    async begins() {
      for (const one of [comesBack, comesLate, comesLater]) one.leave();
      run(comesBack.follow(over.signal));
      run(delay(LATE_MS).then(() => comesLate.follow(over.signal)));
    },
    served: () => more('writes', () => seen.written.size, 2 * SERVERS * ACCOUNTS),
    refused: (what) => more(`refused ${what}`, () => seen.refused[what], ACCOUNTS),
    answered: () => until(async () => (await reader.send(0, 'GET', '/categories')).code === 'OK', 'a read', LONG_MS),
    async followed() {
      await scene.served();
      await arrived(() => stop.signal.aborted);
      stop.signal.throwIfAborted();
    },
  };
  try {
    await scene.followed();
    await failOver.happen(scene);
    await scene.served();
    await world.query(`INSERT INTO categories (name) SELECT 'more' FROM generate_series(1, ${MANY})`);
    run(comesLater.follow(over.signal));
    await delay(LATE_MS);
    stop.abort();
    await Promise.all(callers);
    await arrived().catch(() => undefined);
  } finally {
    stop.abort();
    over.abort();
    await Promise.all(running); // which says more than what waited for it
  }
  const told = await check(world, failOver, seen, followers, writers);
  const standstillMs = loop.max / 1e6; // of a busy machine
  const slowestMs = SLOWEST_MS[failOver.costs.limits === 'exact' ? 'exact' : 'alone'];
  assert.ok(seen.slowestMs < slowestMs + standstillMs, `an answer took ${seen.slowestMs} ms`);
  return { ...told, slowestMs: Math.round(seen.slowestMs), standstillMs: Math.round(standstillMs) };
}

async function check(
  world: World,
  { costs, said }: FailOver,
  { written, missing, refused }: Seen,
  followers: readonly Follower[],
  accounts: readonly Account[],
) {
  const rows = await world.query('SELECT id, name FROM categories ORDER BY id');
  const stored = new Map(rows.map(({ id, name }) => [String(id), String(name)]));
  const names = [...stored.values()].filter((name) => name !== 'more');
  assert.equal(new Set(names).size, names.length, 'nothing is stored twice');
  const lost = [...written].filter(([name, { id }]) => stored.get(id) !== name);
  const late = lost.filter(([, { ms }]) => ms >= world.lostMs);
  assert.deepEqual(late, [], 'a write is lost that was acknowledged later');
  const old = missing.filter((name) => !lost.some(([one]) => one === name));
  assert.deepEqual(old, [], 'a read has an old state');

  const ids = new Set((await world.query('SELECT id FROM events')).map(({ id }) => BigInt(String(id))));
  for (const { name, copy, seen, told } of followers) {
    const hasSeenLost = [...seen].some((id) => !ids.has(id));
    assert.equal(told > 0, hasSeenLost, `${name} was told ${told} times`);
    assert.deepEqual(copy, stored, `${name} has ${copy.size} of ${stored.size}`);
  }
  const { limits } = costs;
  const loss = lost.length > 0 ? 'some lost' : 'none lost';
  const found = {
    writes: [refused.writes > 0 ? '503' : 'no change', ...(refused.writes + lost.length > 0 ? [loss] : [])].join(', '),
    reads: refused.reads > 0 ? '503' : 'no change',
    followers: followers.some(({ told }) => told > 0) ? 'told' : 'go on',
    limits,
  };
  assert.deepEqual(found, costs);

  for (const account of accounts) {
    const left = await account.remaining();
    assert.ok(Math.max(...left) - Math.min(...left) < left.length, `${left} are left`);
    const used = MAX - Math.min(...left);
    const isRight = used <= account.sent && (limits !== 'exact' || used >= account.counted);
    assert.ok(isRight, `${used} of ${account.counted} were counted`);
  }
  for (const lines of world.outages()) {
    const begins = lines.map((line) => said.find((begin) => line.startsWith(begin)) ?? line);
    assert.deepEqual(begins, said);
  }
  return { written: written.size, lost: lost.length, refused };
}
