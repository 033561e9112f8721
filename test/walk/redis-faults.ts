/** The fail-overs of a Redis Cluster of three masters with a replica each. */
import assert from 'node:assert/strict';
import { setTimeout as delay } from 'node:timers/promises';
import type { TestCluster, TestRedis } from '../support/machine/redis.ts';
import { until } from '../support/until.ts';
import type { Costs, FailOver } from './failovers.ts';

const HOLD_MS = 4_000;
/** How late the servers may be on a busy machine. */
const BUSY_MS = 500;
const MASTERS = 3;
/** The account whose slot moves. */
const MOVED = 7;
const [LOST, BACK] = ['Redis is unavailable', 'Redis is back'];
const MOVE = ['A slot of Redis moves', 'The slot of Redis has moved'];

/** Ends when the cluster has changed. Returns what ends the fault. */
type Begin = (cluster: TestCluster) => Promise<() => unknown>;

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

const killing = (role: 'master' | 'replica') => async (cluster: TestCluster) => kill(await find(cluster, role));
const freezing = (role: 'master' | 'replica') => async (cluster: TestCluster) => freeze(await find(cluster, role));

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

function row(begin: Begin, ends: string, limits: Costs['limits'], said: FailOver['said'] = []): FailOver {
  return {
    costs: { writes: 'no change', reads: 'no change', followers: 'go on', limits },
    until: ends,
    said,
    async happen({ machines: { cluster }, world, begins }) {
      const all = (line: string, maxMs?: number) => {
        const haveSaid = () => world.outages().every((lines) => lines.some((one) => one.startsWith(line)));
        return until(haveSaid, `${line} in time`, maxMs);
      };
      await begins();
      const end = await begin(cluster);
      if (limits === 'alone') await all(LOST);
      const [, seconds] = /^(\d) s after/.exec(ends) ?? [];
      if (seconds === undefined) await delay(HOLD_MS);
      else {
        await until(async () => (await masters(cluster)).length === MASTERS, 'the promotion');
        await untilWhole(cluster);
        await all(BACK, Number(seconds) * 1_000 + BUSY_MS);
      }
      await end();
      for (const line of said) await all(line);
      await untilWhole(cluster);
    },
  };
}

const IT_ENDS = 'they are back';
const alone = (begin: Begin, ends = '1 s after the promotion') => row(begin, ends, 'alone', [LOST, BACK]);
const unfelt = (begin: Begin) => row(begin, '', 'exact');

export const REDIS: Readonly<Record<string, FailOver>> = {
  'a master of Redis dies and stays away': { ...alone(killing('master')), isShort: true },
  'a master of Redis freezes and stays frozen': alone(freezing('master'), '4 s after the promotion'),
  'a slot of Redis moves slowly': { ...row(moveSlot, 'it has moved', 'its accounts alone', MOVE), isShort: true },
  'a master of Redis restarts without data': alone(async (cluster) => {
    const master = await find(cluster, 'master');
    await master.kill();
    await delay(300);
    await master.startAgain();
    return none;
  }, '1 s after that'),
  'two of three masters of Redis die': alone(
    async (cluster) => each((await masters(cluster)).slice(0, 2), kill),
    IT_ENDS,
  ),
  'all nodes of Redis freeze': alone((cluster) => each(cluster.nodes, freeze), IT_ENDS),
  'a master of Redis is full': alone(async (cluster) => {
    const master = await find(cluster, 'master');
    await master.command('CONFIG', 'SET', 'maxmemory', '1');
    return () => master.command('CONFIG', 'SET', 'maxmemory', '0');
  }, IT_ENDS),
  'a slot of Redis is served by nobody': alone(async (cluster) => {
    const { slot, from } = await slotOf(cluster);
    await Promise.all(alive(cluster).map((node) => answer(node, 'CLUSTER', 'DELSLOTS', slot)));
    return () => from.command('CLUSTER', 'ADDSLOTS', slot);
  }, IT_ENDS),
  'a replica of Redis dies': unfelt(killing('replica')),
  'a replica of Redis freezes': unfelt(freezing('replica')),
  'a replica of Redis is promoted': unfelt(async (cluster) => {
    const replica = await find(cluster, 'replica');
    await replica.command('CLUSTER', 'FAILOVER');
    await until(() => isMaster(replica), 'the promotion');
    return none;
  }),
  'slots of Redis move': unfelt(async (cluster) => {
    await reshard(cluster, await find(cluster, 'master'));
    return none;
  }),
  'slots of Redis move to a new node': unfelt(async (cluster) => {
    const node = await cluster.start();
    await cluster.run('add-node', `127.0.0.1:${node.port}`, `127.0.0.1:${cluster.nodes[0]?.port}`);
    cluster.nodes.push(node);
    await untilWhole(cluster);
    await reshard(cluster, node);
    return none;
  }),
};
