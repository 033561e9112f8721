/** Metrics of the process: CPU, memory, garbage collection, event loop, and the version. */
import { readFileSync } from 'node:fs';
import { collectDefaultMetrics, Gauge, type Registry } from 'prom-client';
import { version } from '../../config/constants.ts';

const ROOT = new URL('../../../', import.meta.url);

/** Default metrics of prom-client that break Prometheus's naming rules, or that are useless here. */
const OMITTED = [
  ...['resources', 'handles', 'requests'].flatMap((what) => [`nodejs_active_${what}`, `nodejs_active_${what}_total`]),
  'nodejs_version_info',
];

export function processMetrics(registry: Registry): void {
  collectDefaultMetrics({ register: registry });
  for (const name of OMITTED) registry.removeSingleMetric(name);
  const commit = commitOf();
  const labels = { version: version(), node: process.versions.node, ...(commit === undefined ? {} : { commit }) };
  new Gauge({
    name: 'petstore_build_info',
    help: 'Always 1. The labels are the release, the version of Node and, if known, the commit.',
    labelNames: Object.keys(labels),
    registers: [registry],
  }).set(labels, 1);
}

/** Returns the commit if the service runs from a git clone. */
function commitOf(): string | undefined {
  const read = (file: string) => readFileSync(new URL(`.git/${file}`, ROOT), 'utf8').trim();
  try {
    const head = read('HEAD');
    return head.startsWith('ref: ') ? read(head.slice('ref: '.length)) : head;
  } catch {
    return undefined;
  }
}
