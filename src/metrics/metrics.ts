/** The server's metrics for Prometheus. Loaded only when METRICS_PORT is set. docs/observability.md lists them. */
import { Registry } from 'prom-client';
import type { MetricsConfig } from '../config.ts';
import type { CommitListener } from '../storage/group-commit.ts';
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

export function createMetrics(): Metrics {
  const registry = new Registry();
  processMetrics(registry);
  return {
    calls: callMetrics(registry),
    commits: commitMetrics(registry),
    listen(config, dependencies, onFailure) {
      dependencyMetrics(registry, dependencies);
      return listen(registry, config, onFailure);
    },
  };
}
