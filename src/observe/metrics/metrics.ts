/** The server's metrics for Prometheus. Loaded only when METRICS_PORT is set. docs/observability.md lists them. */
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { Registry } from 'prom-client';
import type { MetricsConfig } from '../../config/config.ts';
import type { CommitListener } from '../../storage/group-commit.ts';
import { type CallMetrics, callMetrics } from './calls.ts';
import { commitMetrics, type Dependencies, dependencyMetrics } from './dependencies.ts';
import { listen, type MetricsListener } from './listener.ts';
import { processMetrics } from './process.ts';

export interface Metrics {
  readonly calls: CallMetrics;
  readonly commits: CommitListener;
  /**
   * Opens the port. Reads `dependencies` at each scrape; calls `onFailure` when that throws.
   *
   * @throws ConfigError when the port can't be opened.
   */
  listen(
    config: MetricsConfig,
    dependencies: Dependencies,
    onFailure: (error: unknown) => void,
  ): Promise<MetricsListener>;
}

/** `deploy/backup.ts` leaves the metrics of its runs in the data folder. */
export function createMetrics(dataDir: string): Metrics {
  const registry = new Registry();
  processMetrics(registry);
  return {
    calls: callMetrics(registry),
    commits: commitMetrics(registry),
    listen(config, dependencies, onFailure) {
      dependencyMetrics(registry, dependencies);
      const backups = () => readFile(join(dataDir, 'backup.prom'), 'utf8').catch(() => '');
      const metrics = async () => (await registry.metrics()) + (await backups());
      return listen({ contentType: registry.contentType, metrics }, config, onFailure);
    },
  };
}
