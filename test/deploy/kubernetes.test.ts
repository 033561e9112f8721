/** Checks that the Kubernetes manifests are valid, and agree with each other and with the service. */
import { existsSync, globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import test from 'ava';
import { parse, parseAllDocuments } from 'yaml';
import { SETTINGS } from '../../src/platform/config/settings.ts';
import { CLOSE_MS, DRAIN_MS } from '../../src/platform/launcher/component.ts';
import { ROOT } from '../../src/platform/launcher/paths.ts';
import { MAX_WAIT_MS } from '../../src/platform/rpc/readiness.ts';
import { go, noGo } from '../conformance/programs.ts';
import { testUnless } from '../support/machine/programs.ts';

const FOLDER = join(ROOT, 'deploy/kubernetes');

/** Three checks, one every ten seconds. */
const LOAD_BALANCER_S = 30;

interface Manifest {
  readonly kind: string;
  readonly metadata: { readonly name: string };
  // biome-ignore lint/suspicious/noExplicitAny: Kubernetes' own types check the shape of the manifests
  readonly spec?: any;
}

const manifests = globSync('{base/*,migration}.yaml', { cwd: FOLDER })
  .filter((name) => !name.endsWith('kustomization.yaml'))
  .flatMap((name) => parseAllDocuments(read(name), { version: '1.1' })) // as Kubernetes reads it: 0440 is octal
  .map((document) => document.toJS() as Manifest);
const ofKind = (kind: string) => manifests.filter((manifest) => manifest.kind === kind);
const named = (kind: string, name: string) => ofKind(kind).find(({ metadata }) => metadata.name === name);
const workloads = [...ofKind('Deployment'), ...ofKind('Job')];

testUnless(noGo)(
  'Manifests - have only what Kubernetes and cert-manager know, and pods that are "restricted"',
  async (t) => {
    t.timeout(600_000, 'the program is compiled');
    const paths = [join(FOLDER, 'base'), join(FOLDER, 'migration.yaml')];
    const read = (await go(['run', '.', ...paths], {}, join(import.meta.dirname, 'manifests'))).trim().split('\n');
    t.deepEqual(read.sort(), manifests.map(({ kind }) => kind).sort());
  },
);

test('Kustomization - names every manifest', (t) => {
  const files = globSync('*.yaml', { cwd: join(FOLDER, 'base') });
  t.deepEqual([...parse(read('base/kustomization.yaml')).resources, 'kustomization.yaml'].sort(), files.sort());
});

/** The secrets of each workload, which are for nobody else. */
const SECRETS: Readonly<Record<string, readonly string[]>> = {
  'petstore-server': ['petstore', 'petstore-server-internal'],
  'petstore-edge': ['petstore-edge-internal', 'petstore-edge-public'],
  'petstore-migrate': ['petstore-migration'],
};

for (const { metadata, spec } of workloads) {
  const pod = spec.template.spec;
  const [container] = pod.containers;
  const env = new Map<string, string>(container.env.map(({ name, value }: Record<string, string>) => [name, value]));

  test(`${metadata.name} - sets only known settings, and has its own secrets, as mounted files`, (t) => {
    const folders = container.volumeMounts.map(({ mountPath }: { mountPath: string }) => mountPath);
    for (const [name, value] of env) {
      t.true(Object.hasOwn(SETTINGS, name.replace(/_FILE$/, '')), name);
      if (/_FILE$|_TLS_|^TLS_/.test(name)) t.true(folders.includes(value.replace(/\/[^/]+$/, '')), name);
      const setting = Object.hasOwn(SETTINGS, name) ? SETTINGS[name as keyof typeof SETTINGS] : undefined;
      t.false(
        setting !== undefined && 'isSecret' in setting && setting.isSecret === true,
        `${name} is in the manifest`,
      );
    }
    const mounted = container.volumeMounts.map(({ name }: { name: string }) => name).sort();
    t.deepEqual(pod.volumes.map(({ name }: { name: string }) => name).sort(), mounted);
    const secrets = pod.volumes.flatMap(({ secret }: { secret?: { secretName: string } }) => secret?.secretName ?? []);
    t.deepEqual(secrets.sort(), SECRETS[metadata.name]);
    t.false(pod.automountServiceAccountToken, 'no token of the API');
  });

  test(`${metadata.name} - starts an existing file of an existing image`, (t) => {
    const containerfile = readFileSync(join(ROOT, 'deploy/container/Containerfile'), 'utf8');
    const [, target] = /petstore-(server|edge)(:|$)/.exec(container.image) ?? [];
    const [, program] = new RegExp(` AS ${target}\n[^]*?CMD \\["(src/[^"]+)"\\]`).exec(containerfile) ?? [];
    t.true(existsSync(join(ROOT, container.args?.[0] ?? program)));
  });
}

for (const { metadata, spec } of ofKind('Deployment')) {
  const pod = spec.template.spec;

  test(`${metadata.name} - has enough time for open requests before it is killed`, (t) => {
    const [{ lifecycle }] = pod.containers;
    t.true(spec.minReadySeconds >= 10, 'others must have found the new pod before the next one goes');
    const preStopS: number = lifecycle?.preStop.sleep.seconds ?? 0;
    t.true(pod.terminationGracePeriodSeconds * 1_000 > MAX_WAIT_MS + DRAIN_MS + 2 * CLOSE_MS + preStopS * 1_000);
    const service = named('Service', metadata.name);
    const isFoundOutByChecks = service?.spec.externalTrafficPolicy === 'Local';
    t.true(!isFoundOutByChecks || preStopS >= LOAD_BALANCER_S, 'the load balancer still sends it connections');
    t.is(spec.strategy.rollingUpdate.maxUnavailable, 0, 'an upgrade leaves no pod less ready');
  });

  test(`${metadata.name} - is ready by itself, not only while another workload responds`, (t) => {
    t.truthy(pod.containers[0].readinessProbe.tcpSocket);
  });

  test(`${metadata.name} - has a service, a disruption budget, an autoscaler and a policy that select it`, (t) => {
    const { labels } = spec.template.metadata;
    const portNames = pod.containers[0].ports.map(({ name }: { name: string }) => name);
    const service = named('Service', metadata.name);
    t.deepEqual(service?.spec.selector, labels);
    for (const { targetPort } of service?.spec.ports ?? []) t.true(portNames.includes(targetPort), targetPort);
    for (const kind of ['PodDisruptionBudget', 'NetworkPolicy']) {
      const found = named(kind, metadata.name);
      t.deepEqual((found?.spec.selector ?? found?.spec.podSelector)?.matchLabels, labels, kind);
      if (kind === 'PodDisruptionBudget') t.is(found?.spec.maxUnavailable, 1, 'one pod is evicted at a time');
    }
    t.like(named('HorizontalPodAutoscaler', metadata.name)?.spec.scaleTargetRef, {
      kind: 'Deployment',
      name: metadata.name,
    });
    t.is(spec.replicas, undefined, 'a number here would override the autoscaler with each apply');
  });
}

test('Edge - redirects plain HTTP to a port that its Service has', (t) => {
  const [edge] = named('Deployment', 'petstore-edge')?.spec.template.spec.containers ?? [];
  const portOf = (setting: string) => edge.env.find(({ name }: { name: string }) => name === setting).value;
  const open = named('Service', 'petstore-edge')?.spec.ports.map(({ port }: { port: number }) => String(port));
  t.deepEqual(open, ['PORT', 'HTTP_PORT'].map(portOf));
});

test('Policies - allow traffic of workloads of the kit, and connections to each port of the examples', (t) => {
  const names = workloads.map(({ metadata }) => metadata.name);
  const selected = ofKind('NetworkPolicy').filter(({ spec }) => spec.podSelector.matchLabels !== undefined);
  t.deepEqual(selected.map(({ spec }) => spec.podSelector.matchLabels['app.kubernetes.io/name']).sort(), names.sort());
  const policy = selected.find(({ metadata }) => metadata.name === 'petstore-server');
  const allowed = policy?.spec.egress.flatMap(({ ports }: { ports: { port: number }[] }) =>
    ports.map((one) => one.port),
  );
  const usual: Record<string, number> = { postgres: 5432, redis: 6379, rediss: 6379 };
  const page = readFileSync(join(ROOT, 'docs/operations.md'), 'utf8');
  const urls = [...page.matchAll(/\b(postgres|rediss?):\/\/\S+?@[\w.]+(?::(\d+))?/g)];
  t.true(urls.length >= 5);
  for (const [url, scheme = '', port] of urls) t.true(allowed.includes(Number(port ?? usual[scheme])), url);
});

test('Secrets - the migration gets another URL of the database than the servers', (t) => {
  const page = readFileSync(join(ROOT, 'docs/operations.md'), 'utf8').replaceAll('\\\n', '');
  const commands = [...page.matchAll(/^kubectl create secret generic (\S+) .+$/gm)];
  const files = new Map(commands.map(([command, name]) => [name, /=database-url(?:=(\S+))?/.exec(command)?.[1]]));
  t.deepEqual(
    [...files],
    [
      ['petstore', undefined],
      ['petstore-migration', 'migration-database-url'],
    ],
  );
});

function read(name: string): string {
  return readFileSync(join(FOLDER, name), 'utf8');
}
