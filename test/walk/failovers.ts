/** The kinds of fail-over, and what each costs: the table in docs/high-availability.md has the same rows. */
import { setTimeout as delay } from 'node:timers/promises';
import { run } from '../deploy/backups.ts';
import { portOf } from '../support/machine/postgres.ts';
import type { Machines, Through, World } from './failover-world.ts';
import { REDIS } from './redis-faults.ts';

export interface Costs {
  /** 503: until it is over. What an asynchronous standby lacks is lost. */
  readonly writes: 'no change' | '503, none lost' | '503, some lost';
  /** Never an old state. */
  readonly reads: 'no change' | '503';
  /** Told: those who have seen what is lost. The others go on. Nobody misses anything. */
  readonly followers: 'go on' | 'told';
  /** Alone: each server counts by itself. */
  readonly limits: 'exact' | 'alone' | 'its accounts alone';
}

/** What happens to the machines, while callers and followers use the servers. */
export interface Scene {
  readonly world: World;
  readonly machines: Machines;
  /** Followers leave. */
  begins(): Promise<void>;
  /** Waits until all servers acknowledge writes. */
  served(): Promise<void>;
  refused(what: 'writes' | 'reads'): Promise<void>;
  /** Waits until a read is answered. */
  answered(): Promise<unknown>;
  /** Waits until all servers have acknowledged more writes, and all followers have seen their events. */
  followed(): Promise<void>;
}

export interface FailOver {
  readonly costs: Costs;
  /** How it ends for the callers, for the page. */
  readonly until: string;
  readonly through?: Through;
  /** Whether `npm test` has it. */
  readonly isShort?: true;
  /** The lines of each server, once each. */
  readonly said: readonly string[];
  readonly happen: (scene: Scene) => Promise<void>;
}

const AWAY = ['the database is away', 'the database is back'];
const NO_LOSS: Costs = { writes: '503, none lost', reads: '503', followers: 'go on', limits: 'exact' };
const LOSS: Costs = { ...NO_LOSS, writes: '503, some lost', followers: 'told' };

const of = (kind: Partial<FailOver>, happen: FailOver['happen']): FailOver => ({
  ...{ costs: NO_LOSS, until: 'the promotion', said: AWAY },
  ...kind,
  happen,
});

/** It begins once the standby has all that was acknowledged. */
async function beginWhole({ machines, begins }: Scene) {
  await machines.synchronous(machines.primary);
  await machines.copied();
  await begins();
}

/** The new primary waits for a standby, and has none. */
async function promoteAlone(scene: Scene) {
  const { machines, refused, answered } = scene;
  await machines.synchronous(machines.standby);
  await beginWhole(scene);
  await machines.primary.kill();
  await machines.promote();
  await refused('writes');
  await answered();
  await machines.rejoin();
  for (const one of [machines.primary, machines.standby]) await machines.synchronous(one, false).catch(() => undefined);
}

const POSTGRES: Readonly<Record<string, FailOver>> = {
  'the primary dies, a synchronous standby is promoted': of({ through: 'HAProxy' }, async (scene) => {
    const { machines, refused, served } = scene;
    await beginWhole(scene);
    await machines.primary.kill();
    await refused('reads');
    await machines.promote();
    await served();
    await machines.rejoin();
    await machines.synchronous(machines.standby, false);
  }),
  'the same, and it waits for a standby itself': of(
    { until: 'the promotion, or it has one', isShort: true },
    promoteAlone,
  ),
  'an asynchronous standby is promoted': of({ costs: LOSS, through: 'HAProxy', isShort: true }, async (scene) => {
    const { world, machines, begins, followed, refused, served } = scene;
    await machines.standby.kill();
    await followed(); // these are lost
    await begins();
    await machines.primary.kill();
    await refused('reads');
    await machines.standby.start();
    world.lostMs = performance.now();
    await machines.promote();
    await served();
    await machines.rejoin();
  }),
  'a switch-over': of(
    { until: 'the switch-over', through: 'HAProxy', isShort: true },
    async ({ machines, begins, served }) => {
      await begins();
      await machines.primary.stop();
      await machines.promote();
      await machines.rejoin();
      await served();
    },
  ),
  'a switch-over behind PgBouncer': of(
    { until: 'the switch-over', through: 'PgBouncer', isShort: true },
    async ({ machines, begins, refused, served }) => {
      await begins();
      await machines.primary.stop();
      await machines.promote();
      await machines.rejoin();
      // PgBouncer may be early: it opens sessions to the former primary, and keeps them.
      machines.lead(machines.standby);
      await refused('reads');
      machines.address.targetPort = portOf(machines.primary);
      await served();
    },
  ),
  'the primary freezes, and wakes up after the promotion': of({ through: 'HAProxy', isShort: true }, async (scene) => {
    const { machines, refused, served } = scene;
    await beginWhole(scene);
    await machines.primary.pause();
    await refused('reads');
    await machines.promote();
    await served();
    await machines.standby.resume(); // there are two primaries now
    await delay(4_000);
    await served();
    await machines.standby.kill();
    await machines.rejoin();
    await machines.synchronous(machines.standby, false);
  }),
  'the address leads to a standby': of({ until: 'it leads to a primary' }, async ({ machines, begins, refused }) => {
    await begins();
    machines.lead(machines.standby);
    await refused('reads');
    await refused('writes');
    machines.lead(machines.primary);
  }),
  'a synchronous standby dies': of(
    { costs: { ...NO_LOSS, reads: 'no change' }, until: 'it is back', said: [] },
    async (scene) => {
      const { machines, refused, served } = scene;
      await beginWhole(scene);
      await machines.standby.kill();
      await refused('writes');
      await machines.standby.start();
      await served();
      await machines.synchronous(machines.primary, false);
    },
  ),
  'a backup is restored': of(
    { costs: LOSS, until: 'the start', said: [] },
    async ({ world, begins, followed, refused }) => {
      const settings = { DATABASE_URL: world.database, DATA_DIR: world.folder };
      const backup = await run('backup', ['--to', world.folder], settings);
      await followed();
      await begins();
      await world.stopServers();
      world.lostMs = performance.now();
      await refused('reads');
      const { code, errors } = await run('restore', [backup.output.trim()], settings);
      if (code !== 0) throw new Error(errors);
      await world.startServers();
    },
  ),
};

export const FAIL_OVERS = { ...POSTGRES, ...REDIS };
