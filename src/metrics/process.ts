/** The process itself: CPU, memory, garbage collection, event loop, and what was built. */

import { readFileSync } from 'node:fs';
import { collectDefaultMetrics, Gauge, type Registry } from 'prom-client';
import { version } from '../config/constants.ts';

const ROOT = new URL('../../', import.meta.url);

/** Of prom-client's own: they break Prometheus's rules of naming, or are nobody's question. */
const LEFT_OUT = [
  ...['resources', 'handles', 'requests'].flatMap((what) => [`nodejs_active_${what}`, `nodejs_active_${what}_total`]),
  'nodejs_version_info',
];

export function processMetrics(registry: Registry): void {
  collectDefaultMetrics({ register: registry });
  for (const name of LEFT_OUT) registry.removeSingleMetric(name);
  const commit = commitOf();
  const labels = { version: version(), node: process.versions.node, ...(commit === undefined ? {} : { commit }) };
  new Gauge({
    name: 'petstore_build_info',
    help: 'Always 1: the labels say which release runs on which Node, and of which commit if that is known.',
    labelNames: Object.keys(labels),
    registers: [registry],
  }).set(labels, 1);
}

/** Known where the service runs from a clone. */
function commitOf(): string | undefined {
  const read = (file: string) => readFileSync(new URL(`.git/${file}`, ROOT), 'utf8').trim();
  try {
    const head = read('HEAD');
    return head.startsWith('ref: ') ? read(head.slice('ref: '.length)) : head;
  } catch {
    return undefined;
  }
}
