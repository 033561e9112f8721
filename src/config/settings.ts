/** Every setting, in the order of docs/settings.md, which is generated from here. */
import { LIMITS } from './limit-settings.ts';
import { LOGS, OBSERVABILITY } from './log-settings.ts';
import { EDGE, HOSTS, PORTS } from './network-settings.ts';
import { KEYS, STORAGE } from './storage-settings.ts';

/** The groups of docs/settings.md. */
export const SETTING_GROUPS = {
  'Ports and processes': PORTS,
  'The edge': EDGE,
  'Servers and edge on different hosts': HOSTS,
  'Storage and Redis': STORAGE,
  Keys: KEYS,
  Logs: LOGS,
  Observability: OBSERVABILITY,
  Limits: LIMITS,
} as const;

export const SETTINGS = {
  ...PORTS,
  ...EDGE,
  ...HOSTS,
  ...STORAGE,
  ...KEYS,
  ...LOGS,
  ...OBSERVABILITY,
  ...LIMITS,
} as const;
