/**
 * The manifests on a real API server, controllers and scheduler, by the commands of docs/operations.md: see
 * `npm run test:kubernetes`. There is no kubelet, no network and no cert-manager: no image runs, no probe asks, no
 * policy drops a packet, and nothing issues a certificate.
 */
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { ROOT } from '../../src/platform/launcher/paths.ts';
import { sharing } from '../support/service/sharing.ts';
import { until } from '../support/until.ts';
import { isReady, type Pod, startCluster } from './cluster.ts';

const SECRETS = ['database-url', 'migration-database-url', 'redis-url', 'operator-key'];
const PAGE = readFileSync(join(ROOT, 'docs/operations.md'), 'utf8');
const NAMES = ['petstore-server', 'petstore-edge'] as const;
const NODES = ['node-0', 'node-1', 'node-2'];
const TIMEOUT_MS = 180_000;

/** The commands of a step of the page. */
function step(title: string): string {
  const [, commands = ''] = PAGE.split(`\n**${title}`)[1]?.split(/```sh\n|```/) ?? [];
  return commands;
}

const secretsOf = ({ spec }: Pod) => spec.volumes.flatMap(({ secret }) => (secret ? [secret.secretName] : [])).sort();

const test = sharing(undefined, async (t) => {
  const cluster = await startCluster(t, process.env.KUBERNETES ?? '');
  for (const name of SECRETS) writeFileSync(join(cluster.folder, name), `the ${name}`);
  await cluster.shell(step('2. Secrets'));
  await cluster.shell(step('3. Migrate, then start'));
  return cluster;
});

test.serial('Start - the page makes everything run, a server in each zone', async (t) => {
  const { pods } = t.context;
  const servers = await until(async () => {
    const all = await pods('petstore-server');
    return all.length === 3 && all.every(isReady) && all;
  }, 'three servers, as the autoscaler wants');
  t.deepEqual(servers.map(({ spec }) => spec.nodeName).sort(), NODES);
  await until(async () => (await pods('petstore-edge')).filter(isReady).length === 2, 'two edges');
});

test.serial('Secrets - each role has its own, and none a token of the API', async (t) => {
  const { context } = t;
  const all = await context.pods();
  const of = (name: string) => all.filter(({ metadata }) => metadata.labels['app.kubernetes.io/name'] === name);
  for (const [name, secrets] of [
    ['petstore-server', ['petstore', 'petstore-server-internal']],
    ['petstore-edge', ['petstore-edge-internal', 'petstore-edge-public']],
    ['petstore-migrate', ['petstore-migration']],
  ] as const) {
    for (const pod of of(name)) t.deepEqual(secretsOf(pod), secrets);
    t.true(of(name).length > 0, name);
  }
  t.true(all.every(({ spec }) => spec.volumes.every(({ projected }) => projected === undefined)));
  const read = async (secret: string) => {
    const object = await context.kubectl('get', 'secret', secret, '--namespace=petstore', '--output=json');
    const data = Object.entries<string>(JSON.parse(object).data);
    return Object.fromEntries(data.map(([name, text]) => [name, Buffer.from(text, 'base64').toString()]));
  };
  const url = { 'database-url': 'the database-url' };
  const others = { 'redis-url': 'the redis-url', 'operator-key': 'the operator-key' };
  t.deepEqual(await read('petstore'), { ...url, ...others });
  t.deepEqual(await read('petstore-migration'), { 'database-url': 'the migration-database-url' });
});

test.serial('Endpoints - the name of the servers has the ready ones alone', async (t) => {
  const { context } = t;
  const query = '?labelSelector=kubernetes.io/service-name=petstore-server';
  const ready = async () => {
    const { object } = await context.request(`/apis/discovery.k8s.io/v1/namespaces/petstore/endpointslices${query}`);
    const { items } = object as { items: { endpoints: { addresses: string[]; conditions: { ready: boolean } }[] }[] };
    const found = items.flatMap(({ endpoints }) => endpoints).filter(({ conditions }) => conditions.ready);
    return found.flatMap(({ addresses }) => addresses).sort();
  };
  const [first, ...others] = await context.pods('petstore-server');
  const addresses = (pods: readonly (Pod | undefined)[]) => pods.map((pod) => pod?.status.podIP ?? '').sort();
  t.deepEqual(await ready(), addresses([first, ...others]));
  const name = first?.metadata.name ?? '';
  context.unready.add(name);
  await until(async () => (await ready()).length === 2, 'that it has left');
  t.deepEqual(await ready(), addresses(others));
  context.unready.delete(name);
  await until(async () => (await ready()).length === 3, 'that it is back');
});

test.serial('Upgrade - new pods replace the old ones, and never is a server less ready', async (t) => {
  const { context } = t;
  t.timeout(TIMEOUT_MS);
  const before = (await context.pods('petstore-server')).map(({ metadata }) => metadata.name);
  const fewest = await context.fewestServers(async () => {
    await context.shell(`
      kubectl set image deployment/petstore-server server=registry.example/petstore-server:1.0.1 --namespace petstore
      kubectl rollout status deployment/petstore-server --namespace petstore --timeout=2m`);
  });
  t.is(fewest, 3);
  const after = await context.pods('petstore-server');
  t.true(after.filter(isReady).every(({ metadata }) => !before.includes(metadata.name)));
});

for (const name of NAMES) {
  test.serial(`Disruption - at most one pod of ${name} is evicted at a time`, async (t) => {
    const { context } = t;
    const ready = () => context.pods(name).then((all) => all.filter(isReady));
    const all = await ready();
    context.hold(true);
    const statuses: number[] = [];
    for (const pod of all.slice(0, 2)) {
      const eviction = { apiVersion: 'policy/v1', kind: 'Eviction', metadata: { name: pod.metadata.name } };
      statuses.push((await context.request(context.path(pod, '/eviction'), 'POST', eviction)).status);
    }
    t.deepEqual(statuses, [201, 429]);
    context.hold(false);
    await until(async () => (await ready()).length === all.length, 'its replacement');
  });
}

test.serial('Admission - a pod with more privileges than the kit needs is refused', async (t) => {
  const { context } = t;
  const error = await t.throwsAsync(context.kubectl('run', 'other', '--image=other', '--namespace=petstore'));
  t.regex(String(error), /violates PodSecurity "restricted/);
});

test.serial('Autoscaling by calls - replaces the autoscaler of base/', async (t) => {
  const { context } = t;
  await context.shell('kubectl apply --kustomize deploy/kubernetes/autoscaling-by-calls');
  const path = '--output=jsonpath={.spec.metrics[*].type}';
  t.is(await context.kubectl('get', 'hpa', 'petstore-server', '--namespace=petstore', path), 'Pods Resource');
});
