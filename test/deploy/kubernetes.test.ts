/**
 * Checks that the Kubernetes manifests agree with each other and with the service. Kubernetes' schemas are large:
 * `deploy/kubernetes/check.sh` downloads them and checks the manifests against them.
 */
import { existsSync, globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import test from 'ava';
import { parse, parseAllDocuments } from 'yaml';
import { SETTINGS } from '../../src/config/settings.ts';
import { MAX_WAIT_MS } from '../../src/edge/readiness.ts';
import { CLOSE_MS, DRAIN_MS } from '../../src/launcher/component.ts';
import { ROOT } from '../../src/launcher/paths.ts';

const FOLDER = join(ROOT, 'deploy/kubernetes');

interface Manifest {
  readonly kind: string;
  readonly metadata: { readonly name: string };
  // biome-ignore lint/suspicious/noExplicitAny: check.sh checks the shape of the manifests
  readonly spec?: any;
}

const manifests = globSync('{base/*,migration}.yaml', { cwd: FOLDER })
  .filter((name) => !name.endsWith('kustomization.yaml'))
  .flatMap((name) => parseAllDocuments(read(name), { version: '1.1' })) // as Kubernetes reads it: 0440 is octal
  .map((document) => document.toJS() as Manifest);
const ofKind = (kind: string) => manifests.filter((manifest) => manifest.kind === kind);
const workloads = [...ofKind('Deployment'), ...ofKind('Job')];

test('Kustomization - names every manifest', (t) => {
  const files = globSync('*.yaml', { cwd: join(FOLDER, 'base') });
  t.deepEqual([...parse(read('base/kustomization.yaml')).resources, 'kustomization.yaml'].sort(), files.sort());
});

for (const { metadata, spec } of workloads) {
  const pod = spec.template.spec;
  const [container] = pod.containers;
  const env = new Map<string, string>(container.env.map(({ name, value }: Record<string, string>) => [name, value]));

  test(`${metadata.name} - sets only known settings, and reads every secret from a mounted file`, (t) => {
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
    const needed = MAX_WAIT_MS + DRAIN_MS + 2 * CLOSE_MS + (lifecycle?.preStop.sleep.seconds ?? 0) * 1_000;
    t.true(pod.terminationGracePeriodSeconds * 1_000 > needed);
  });

  test(`${metadata.name} - has a service, a disruption budget, an autoscaler and a policy that select it`, (t) => {
    const { labels } = spec.template.metadata;
    const portNames = pod.containers[0].ports.map(({ name }: { name: string }) => name);
    const service = ofKind('Service').find((one) => one.metadata.name === metadata.name);
    t.deepEqual(service?.spec.selector, labels);
    for (const { targetPort } of service?.spec.ports ?? []) t.true(portNames.includes(targetPort), targetPort);
    for (const kind of ['PodDisruptionBudget', 'NetworkPolicy']) {
      const found = ofKind(kind).find((one) => one.metadata.name === metadata.name);
      t.deepEqual((found?.spec.selector ?? found?.spec.podSelector)?.matchLabels, labels, kind);
    }
    const autoscaler = ofKind('HorizontalPodAutoscaler').find((one) => one.metadata.name === metadata.name);
    t.like(autoscaler?.spec.scaleTargetRef, { kind: 'Deployment', name: metadata.name });
    t.is(spec.replicas, undefined, 'a number here would override the autoscaler with each apply');
  });
}

function read(name: string): string {
  return readFileSync(join(FOLDER, name), 'utf8');
}
