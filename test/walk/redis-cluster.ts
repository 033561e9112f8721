/** What happens to a Redis cluster of three masters with a replica each, while three servers decide on requests. */
import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { monitorEventLoopDelay } from 'node:perf_hooks';
import { setTimeout as delay } from 'node:timers/promises';
import type { ExecutionContext } from 'ava';
import type { Logger } from 'pino';
import { toAccountId } from '../../src/platform/rpc/caller.ts';
import { openRedis, untilBack } from '../access/limits/suite/redis.ts';
import { ACCOUNT } from '../access/limits/suite/setup.ts';
import type { TestCluster, TestRedis } from '../support/machine/redis.ts';
import { until } from '../support/until.ts';

const PERIOD_MS = 100;
const HOLD_MS = 4_000;
/** How long a decision may take: that of a command, and an allowance for a busy machine. */
const [TIMEOUT_MS, ALLOWANCE_MS] = [2_000, 1_000];
const MAX = 1_000_000;
/** The account whose slot moves. */
const MOVED = 7;
const ACCOUNTS = Array.from({ length: 20 }, (_, index) => {
  return { ...ACCOUNT, quota: { perMinute: MAX, perDay: MAX }, accountId: toAccountId(BigInt(index)) };
});

export interface Fault {
  /** Ends when the cluster has changed. Returns what ends the fault. */
  readonly begin: (cluster: TestCluster) => Promise<() => unknown>;
  /** What each server logs. Without a line that begins so, the limits are exact all the time. */
  readonly log: readonly RegExp[];
  /** The servers count together again before the fault ends. */
  readonly isSurvived: boolean;
}

const OUTAGE = [/^Redis is unavailable/, /^Redis is back/];
const MOVE = [/^A slot of Redis moves/, /^The slot of Redis has moved/];

const isMaster = async (node: TestRedis) => ((await node.command('ROLE')) as unknown[])[0] === 'master';
const alive = ({ nodes }: TestCluster) => nodes.filter(({ isRunning }) => isRunning);
async function find(cluster: TestCluster, role: 'master' | 'replica'): Promise<TestRedis> {
  for (const node of alive(cluster)) if ((await isMaster(node)) === (role === 'master')) return node;
  throw new Error(`no ${role} is there`);
}

/** Waits until every node that runs says that the cluster is whole. */
function untilWhole(cluster: TestCluster): Promise<boolean> {
  return until(async () => {
    const infos = await Promise.all(alive(cluster).map((node) => node.command('CLUSTER', 'INFO')));
    return infos.every((info) => String(info).includes('cluster_state:ok'));
  }, 'the whole cluster');
}

async function kill(node: TestRedis) {
  await node.kill();
  return () => node.startAgain();
}

async function freeze(node: TestRedis) {
  node.pause();
  return () => node.resume();
}

const answer = (node: TestRedis, ...command: string[]) =>
  node.command(...command).then(String, ({ message }) => message);

async function masters(cluster: TestCluster): Promise<TestRedis[]> {
  const all = await Promise.all(alive(cluster).map(async (node) => ((await isMaster(node)) ? [node] : [])));
  return all.flat();
}

async function slotOf(cluster: TestCluster) {
  const slot = String(await cluster.nodes[0]?.command('CLUSTER', 'KEYSLOT', `account:${MOVED}`));
  const all = await masters(cluster);
  const answers = await Promise.all(all.map((node) => answer(node, 'GET', `{account:${MOVED}}`)));
  const [from, to] = [false, true].map((isOther) => all.find((_, i) => answers[i]?.startsWith('MOVED') === isOther));
  assert.ok(from && to);
  return { slot, from, to };
}

/** Moves the slot of an account from one master to another, and holds it halfway. */
async function moveSlot(cluster: TestCluster) {
  const { slot, from, to } = await slotOf(cluster);
  const [source, target] = [await from.command('CLUSTER', 'MYID'), await to.command('CLUSTER', 'MYID')].map(String);
  await to.command('CLUSTER', 'SETSLOT', slot, 'IMPORTING', source ?? '');
  await from.command('CLUSTER', 'SETSLOT', slot, 'MIGRATING', target ?? '');
  return async () => {
    const place = ['127.0.0.1', `${to.port}`, '', '0', '5000', 'REPLACE', 'KEYS'];
    for (;;) {
      const keys = (await from.command('CLUSTER', 'GETKEYSINSLOT', slot, '10')) as string[];
      if (keys.length === 0) break;
      await from.command('MIGRATE', ...place, ...keys);
    }
    for (const node of [to, from]) await node.command('CLUSTER', 'SETSLOT', slot, 'NODE', target ?? '');
  };
}

/** Moves 100 slots from each master to another one, as an operator does. */
async function reshard({ nodes, run }: TestCluster, to: TestRedis) {
  const id = String(await to.command('CLUSTER', 'MYID'));
  const some = ['--cluster-from', 'all', '--cluster-to', id, '--cluster-slots', '300', '--cluster-yes'];
  await run('reshard', `127.0.0.1:${nodes[0]?.port}`, ...some);
}

async function each(nodes: readonly TestRedis[], change: (node: TestRedis) => Promise<() => unknown>) {
  const ends = await Promise.all(nodes.map(change));
  return () => Promise.all(ends.map((end) => end()));
}

const none = () => undefined;
/** The servers count alone until the cluster has mended itself, or until the fault ends. */
const survived = (begin: Fault['begin']): Fault => ({ begin, log: OUTAGE, isSurvived: true });
const outlasted = (begin: Fault['begin']): Fault => ({ begin, log: OUTAGE, isSurvived: false });
/** The limits stay exact. */
const unfelt = (begin: Fault['begin']): Fault => ({ begin, log: [], isSurvived: true });

/** The first three are a part of `npm test`. */
export const FAULTS: Readonly<Record<string, Fault>> = {
  'a master is killed and stays away': survived(async (cluster) => kill(await find(cluster, 'master'))),
  'a master freezes and stays frozen': survived(async (cluster) => freeze(await find(cluster, 'master'))),
  'a slot moves slowly': { begin: moveSlot, log: MOVE, isSurvived: true },
  'a master restarts without data': survived(async (cluster) => {
    const master = await find(cluster, 'master');
    await master.kill();
    await delay(300);
    await master.startAgain();
    return none;
  }),
  'two masters are killed': outlasted(async (cluster) => each((await masters(cluster)).slice(0, 2), kill)),
  'all nodes freeze': outlasted((cluster) => each(cluster.nodes, freeze)),
  'a master is full': outlasted(async (cluster) => {
    const master = await find(cluster, 'master');
    await master.command('CONFIG', 'SET', 'maxmemory', '1');
    return () => master.command('CONFIG', 'SET', 'maxmemory', '0');
  }),
  'a slot is served by nobody': outlasted(async (cluster) => {
    const { slot, from } = await slotOf(cluster);
    await Promise.all(alive(cluster).map((node) => answer(node, 'CLUSTER', 'DELSLOTS', slot)));
    return () => from.command('CLUSTER', 'ADDSLOTS', slot);
  }),
  'a replica is killed': unfelt(async (cluster) => kill(await find(cluster, 'replica'))),
  'a replica freezes': unfelt(async (cluster) => freeze(await find(cluster, 'replica'))),
  'a replica is promoted': unfelt(async (cluster) => {
    const replica = await find(cluster, 'replica');
    await replica.command('CLUSTER', 'FAILOVER');
    await until(() => isMaster(replica), 'the promotion');
    return none;
  }),
  'slots move': unfelt(async (cluster) => {
    await reshard(cluster, await find(cluster, 'master'));
    return none;
  }),
  'slots move to a new node': unfelt(async (cluster) => {
    const node = await cluster.start();
    await cluster.run('add-node', `127.0.0.1:${node.port}`, `127.0.0.1:${cluster.nodes[0]?.port}`);
    cluster.nodes.push(node);
    await untilWhole(cluster);
    await reshard(cluster, node);
    return none;
  }),
};

/** Runs one fault. Throws if a promise does not hold. Returns how long the servers have counted alone, at the most. */
export async function endure(t: ExecutionContext, cluster: TestCluster, fault: Fault) {
  await untilWhole(cluster);
  const logs: string[][] = [[], [], []];
  const shared = { redis: cluster.config, timeoutMs: TIMEOUT_MS, prefix: randomUUID() };
  const servers = await Promise.all(
    logs.map((log) => {
      const info = (text: string) => log.push(text);
      const warn = ({ cause }: { cause: string }, text: string) => log.push(`${text} (${cause})`);
      return openRedis(t, { ...shared, logger: { info, warn } as unknown as Logger });
    }),
  );
  await untilBack(...servers);
  for (const log of logs) log.length = 0;
  const stop = new AbortController();
  let slowestMs = 0;
  const loop = monitorEventLoopDelay({ resolution: 10 });
  loop.enable();
  const admitted = ACCOUNTS.map(() => 0);
  const used = ACCOUNTS.map(() => servers.map(() => 0));
  const callers = servers.flatMap((server, index) =>
    ACCOUNTS.map(async (account, of) => {
      const mine = used[of] ?? [];
      while (!stop.signal.aborted) {
        const startMs = performance.now();
        const decision = await server.admit(account);
        slowestMs = Math.max(slowestMs, performance.now() - startMs);
        admitted[of] = (admitted[of] ?? 0) + 1;
        const now = MAX - decision.remaining;
        assert.ok(decision.allowed && now > (mine[index] ?? 0), `${now} after ${mine[index]}`);
        mine[index] = now;
        await delay(PERIOD_MS);
      }
    }),
  );
  const all = Promise.all(callers);
  all.catch(() => stop.abort());
  const alone = [0, 0, 0];
  const watch = setInterval(() => {
    for (const [index, server] of servers.entries()) if (server.isDegraded) alone[index] = (alone[index] ?? 0) + 20;
  }, 20);
  try {
    await delay(5 * PERIOD_MS);
    const end = await fault.begin(cluster);
    if (fault.log === OUTAGE) await until(() => servers.every(({ isDegraded }) => isDegraded), 'the outage');
    await delay(HOLD_MS);
    if (fault.isSurvived) await untilBack(...servers);
    await end();
    await untilBack(...servers);
    await untilWhole(cluster);
    await until(() => logs.every((log) => log.length >= fault.log.length), 'the log', 15_000);
    await delay(10 * PERIOD_MS);
    stop.abort();
    await all;
    for (const log of logs) {
      assert.ok(log.length === fault.log.length && fault.log.every((line, i) => line.test(log[i] ?? '')), `${log}`);
    }
    for (const [of, account] of ACCOUNTS.entries()) {
      const left = await Promise.all(servers.map(async (server) => MAX - (await server.peek(account)).remaining));
      assert.equal(new Set(left).size, 1, `${left}: the servers count together`);
      const counted = fault.log.length === 0 || (fault.log === MOVE && of !== MOVED);
      const least = counted ? (admitted[of] ?? 0) : Math.max(...(used[of] ?? []));
      assert.ok((left[0] ?? 0) >= least, `${left} were counted, ${least} admitted`);
    }
    const standstillMs = loop.max / 1e6; // of a busy machine
    assert.ok(slowestMs < TIMEOUT_MS + ALLOWANCE_MS + standstillMs, `a decision took ${slowestMs} ms`);
    return {
      standstillMs: Math.round(standstillMs),
      admitted: admitted.reduce((sum, one) => sum + one),
      slowestMs: Math.round(slowestMs),
      aloneMs: Math.max(...alone),
    };
  } finally {
    clearInterval(watch);
    stop.abort();
    await all.catch(() => undefined);
  }
}
