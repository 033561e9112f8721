/** Writes Envoy's configuration (envoy/config) as a file. */
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { stringify } from 'yaml';
import { bootstrap } from '../../../envoy/config/bootstrap.ts';
import type { EdgeConfig } from '../config/config.ts';
import { adminSocket } from './envoy-admin.ts';
import { accessLog, ROOT } from './paths.ts';
import { secretFile } from './secrets.ts';

const HEAD = '# Written at each start, from envoy/config. The comments are there.\n';

/** Writes the configuration to the data folder, as YAML that an operator can read. Resolves with its path. */
export async function writeEnvoyConfig(config: EdgeConfig): Promise<string> {
  const file = join(config.dataDir, 'envoy.yaml');
  const message = bootstrap(config, {
    root: ROOT,
    adminSocket: adminSocket(config),
    accessLog: config.logs === 'stdout' ? undefined : accessLog(config),
    secret: (name) => secretFile(config, name),
  });
  // Envoy reads YAML 1.1, in which "yes" needs quotes. It has the edge's secret.
  const text = stringify(message, { version: '1.1', aliasDuplicateObjects: false, lineWidth: 0 });
  await writeFile(file, HEAD + text, { mode: 0o600 });
  return file;
}
