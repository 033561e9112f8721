/** What Envoy's health checks say of the only server while it is under load. */
import { setTimeout as delay } from 'node:timers/promises';

const EVERY_MS = 500;
const FAILURES = 'cluster.petstore.health_check.failure';
const HEALTHY = 'cluster.petstore.membership_healthy';

export interface WatchedServer {
  /** How many checks failed since the start, and whether Envoy sent nothing to the server at any look. */
  stop(): Promise<{ failedChecks: number; wasUnhealthy: boolean }>;
}

/** Starts to look. */
export function watchServer(statisticsUrl: string): WatchedServer {
  const over = new AbortController();
  const watched = watch(statisticsUrl, over.signal);
  watched.catch(() => undefined); // `stop` tells
  return {
    async stop() {
      over.abort();
      return watched;
    },
  };
}

async function watch(statisticsUrl: string, over: AbortSignal) {
  const first = await look(statisticsUrl);
  let last = first;
  let wasUnhealthy = first.healthy === 0;
  while (!over.aborted) {
    await delay(EVERY_MS, undefined, { signal: over }).catch(() => undefined);
    last = await look(statisticsUrl);
    wasUnhealthy ||= last.healthy === 0;
  }
  return { failedChecks: last.failures - first.failures, wasUnhealthy };
}

async function look(statisticsUrl: string): Promise<{ failures: number; healthy: number }> {
  const names = [FAILURES, HEALTHY].map((name) => name.replaceAll('.', '\\.')).join('|');
  const text = await (await fetch(`${statisticsUrl}/stats?filter=^(${names})$`)).text();
  const read = (name: string) => {
    const value = text
      .split('\n')
      .find((line) => line.startsWith(`${name}: `))
      ?.slice(name.length + 2);
    if (value === undefined) throw new Error(`Envoy has no ${name}`);
    return Number(value);
  };
  return { failures: read(FAILURES), healthy: read(HEALTHY) };
}
