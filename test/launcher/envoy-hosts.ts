/** The servers of a launched service, from Envoy's point of view. */
import { readConfig } from '../../src/config/config.ts';
import { EnvoyAdmin } from '../../src/launcher/envoy-admin.ts';
import type { Launcher } from '../support/launcher.ts';

interface HostStatus {
  readonly port: number;
  readonly isHealthy: boolean;
  readonly requests: number;
}

/** Asks Envoy for the state of its servers. */
export async function hosts({ settings }: Launcher): Promise<HostStatus[]> {
  const body = await new EnvoyAdmin(readConfig(settings)).get('/clusters?format=json', AbortSignal.timeout(5_000));
  // biome-ignore lint/suspicious/noExplicitAny: Envoy's own shape
  const { cluster_statuses: clusters } = JSON.parse(body) as any;
  const petstore = clusters.find(({ name }: { name: string }) => name === 'petstore');
  // biome-ignore lint/suspicious/noExplicitAny: as above
  return petstore.host_statuses.map(({ address, health_status: health, stats }: any) => ({
    port: address.socket_address.port_value,
    isHealthy: !health.failed_active_health_check && !health.failed_outlier_check,
    requests: Number(stats.find(({ name }: { name: string }) => name === 'rq_total').value ?? 0),
  }));
}
