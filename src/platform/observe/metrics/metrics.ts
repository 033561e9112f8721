/** The server's metrics for Prometheus. Loaded only when METRICS_PORT is set. docs/observability.md lists them. */
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { collectDefaultMetrics, Gauge, Registry } from 'prom-client';
import { NAME } from '../../../identity.ts';
import type { MetricsConfig } from '../../config/config.ts';
import { version } from '../../config/constants.ts';
import { callMetrics } from './calls.ts';
import { type Dependencies, dependencyMetrics } from './dependencies.ts';
import { listen } from './listener.ts';

/** Default metrics of prom-client that break Prometheus's naming rules, or that are useless here. */
const OMITTED = [
  ...['resources', 'handles', 'requests'].flatMap((what) => [`nodejs_active_${what}`, `nodejs_active_${what}_total`]),
  'nodejs_version_info',
];

/** `deploy/backup.ts` leaves the metrics of its runs in the data folder. */
export function createMetrics(dataDir: string) {
  const registry = new Registry();
  collectDefaultMetrics({ register: registry });
  for (const name of OMITTED) registry.removeSingleMetric(name);
  const help = 'Always 1. The labels are the release and the version of Node.';
  const labelNames = ['version', 'node'];
  const build = new Gauge({ name: `${NAME}_build_info`, help, labelNames, registers: [registry] });
  build.set({ version: version(), node: process.versions.node }, 1);
  return {
    calls: callMetrics(registry),
    /**
     * Opens the port. Reads `dependencies` at each scrape; calls `onFailure` when that throws. Resolves with a function
     * that closes the port.
     *
     * @throws ConfigError when the port can't be opened.
     */
    listen(config: MetricsConfig, dependencies: Dependencies, onFailure: (error: unknown) => void) {
      dependencyMetrics(registry, dependencies);
      const backups = () => readFile(join(dataDir, 'backup.prom'), 'utf8').catch(() => '');
      const metrics = async () => (await registry.metrics()) + (await backups());
      return listen({ contentType: registry.contentType, metrics }, config, onFailure);
    },
  };
}
