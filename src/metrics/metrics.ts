/**
 * Metrics for Prometheus: all of a server's, and where they can be read. Loaded only when they are asked for.
 * docs/observability.md lists them.
 */
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
   * Opens the port. The readings are asked for at each scrape; `onFailure` is told of what should not have happened.
   *
   * @throws ConfigError when the port can't be opened.
   */
  listen(config: MetricsConfig, readings: Dependencies, onFailure: (error: unknown) => void): Promise<MetricsListener>;
}

export function createMetrics(): Metrics {
  const registry = new Registry();
  processMetrics(registry);
  return {
    calls: callMetrics(registry),
    commits: commitMetrics(registry),
    listen(config, readings, onFailure) {
      dependencyMetrics(registry, readings);
      return listen(registry, config, onFailure);
    },
  };
}
