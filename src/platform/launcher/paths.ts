/** Where the repository, the server's program and the logs are. */
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { Config } from '../config/config.ts';

export const ROOT = fileURLToPath(new URL('../../..', import.meta.url)).replace(/\/$/, '');

export const SERVER = join(ROOT, 'src/main.ts');

export function logDir(config: Config): string {
  return join(config.dataDir, 'logs');
}

export function auditLog(config: Config): string {
  return join(logDir(config), 'audit.log');
}

export function accessLog(config: Config): string {
  return join(logDir(config), 'access.log');
}
