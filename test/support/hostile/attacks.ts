/** All attacks that run in processes of their own. Costs, look-ups and logs are measured in campaign.ts. */
import type { Attack } from './attack.ts';
import { crowd } from './crowd.ts';
import { endlessBodies } from './endless-bodies.ts';
import { silentCalls, silentCallsWithMadeUpKeys, watches } from './grpc-calls.ts';
import { heavyBodies } from './heavy-bodies.ts';
import { idleConnections } from './idle-connections.ts';
import { allStreams, bodilessGets, healthCrowd, silentCallsWithKey, silentChecks } from './open-streams.ts';
import { unreadPages, unreadRefusals } from './unread-pages.ts';
import { unreadReflection } from './unread-reflection.ts';

export const ATTACKS: readonly Attack[] = [
  unreadReflection,
  bodilessGets,
  silentChecks,
  silentCallsWithKey,
  allStreams,
  healthCrowd,
  unreadPages,
  unreadRefusals,
  watches,
  silentCalls,
  silentCallsWithMadeUpKeys,
  heavyBodies,
  endlessBodies,
  idleConnections,
  crowd,
];
