/**
 * The kit for systemd, Compose and Kubernetes against the service, and by the programs that check such files.
 * systemd-run.test.ts runs the units.
 */
import { cpSync, globSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import test from 'ava';
import { parse, parseAllDocuments } from 'yaml';
import { SETTINGS } from '../../src/platform/config/settings.ts';
import { CLOSE_MS, DRAIN_MS, EDGES_KNOW_MS } from '../../src/platform/config/times.ts';
import { ROOT } from '../../src/platform/launcher/paths.ts';
import { go, noGo } from '../conformance/programs.ts';
import { missing, sh } from '../support/machine/find-program.ts';
import { noOpenssl } from '../support/machine/tls.ts';
import { temporaryFolder } from '../support/scope.ts';
import { testUnless } from '../support/service/sharing.ts';

const [UNITS, COMPOSE, KUBERNETES] = ['systemd', 'compose/compose.yaml', 'kubernetes'].map(
  (path) => `${ROOT}/deploy/${path}`,
) as [string, string, string];
/** The highest exposure level allowed, of 10. systemd rates levels up to 2 as OK. */
const MOST_EXPOSED = 2;

const services = globSync('*.service', { cwd: UNITS });
const readUnit = (name: string) => readFileSync(`${UNITS}/${name}`, 'utf8');

// biome-ignore lint/suspicious/noExplicitAny: Kubernetes' own types check the shape of the manifests
type Manifest = any;

const manifests = globSync('{base/*,migration}.yaml', { cwd: KUBERNETES })
  .filter((name) => !name.endsWith('kustomization.yaml'))
  .flatMap((name) => parseAllDocuments(readFileSync(`${KUBERNETES}/${name}`, 'utf8')))
  .map((document): Manifest => document.toJS());
const workloads = manifests.filter(({ kind }) => kind === 'Deployment' || kind === 'Job');

/** What is started: the names of its settings, and the seconds until it is killed. */
type Started = readonly [name: string, settings: readonly string[], stopS: number | undefined];

const STARTED: readonly Started[] = [
  ...services.map((name): Started => {
    const variables = [...readUnit(name).matchAll(/^Environment=(.+)$/gm)].flatMap(([, all = '']) => all.split(' '));
    const [, seconds] = /^TimeoutStopSec=(\d+)$/m.exec(readUnit(name)) ?? [];
    return [name, variables.map((variable) => variable.split('=')[0] ?? ''), seconds ? Number(seconds) : undefined];
  }),
  ...['edge', 'server-1', 'migrate'].map((name): Started => {
    const { environment, stop_grace_period } = parse(readFileSync(COMPOSE, 'utf8'), { merge: true }).services[name];
    return [`${name} of Compose`, Object.keys(environment), Number.parseInt(stop_grace_period, 10)];
  }),
  ...workloads.map(({ metadata, spec }): Started => {
    const { containers, terminationGracePeriodSeconds: graceS } = spec.template.spec;
    const [{ env, lifecycle }] = containers;
    const preStopS: number = lifecycle?.preStop.sleep.seconds ?? 0;
    const names = env.map(({ name }: { name: string }) => name);
    return [`${metadata.name} of Kubernetes`, names, graceS && graceS - preStopS];
  }),
];

for (const [name, settings, stopS] of STARTED) {
  test(`${name} - has known settings, and enough time for open requests before it is killed`, (t) => {
    for (const setting of settings) t.true(Object.hasOwn(SETTINGS, setting.replace(/_FILE$/, '')), setting);
    const untilEdgesKnowMs = /^petstore(-edge)?\.service$/.test(name) ? 0 : EDGES_KNOW_MS;
    const neededMs = untilEdgesKnowMs + DRAIN_MS + 2 * CLOSE_MS;
    if (stopS !== undefined) t.true(stopS * 1_000 > neededMs, `${stopS} s; src/platform/config/times.ts has the times`);
  });
}

/** The Secrets that the pods of each workload may read. */
const SECRETS: Readonly<Record<string, readonly string[]>> = {
  'petstore-server': ['petstore', 'petstore-server-internal'],
  'petstore-edge': ['petstore-edge-internal', 'petstore-edge-public'],
  'petstore-migrate': ['petstore-migration'],
};

test('Manifests - a workload reads its own Secrets, loses no pod at an upgrade, and its policies select it', (t) => {
  for (const { kind, metadata, spec } of workloads) {
    const { template, strategy, minReadySeconds } = spec;
    const volumes: readonly { secret?: { secretName: string } }[] = template.spec.volumes;
    t.deepEqual(volumes.flatMap(({ secret }) => secret?.secretName ?? []).sort(), SECRETS[metadata.name]);
    t.false(template.spec.automountServiceAccountToken, 'no token of the API');
    if (kind !== 'Deployment') continue;
    t.is(strategy.rollingUpdate.maxUnavailable, 0);
    t.true(minReadySeconds >= 10, 'others must have found the new pod before the next one goes');
    const { labels } = template.metadata;
    for (const selecting of ['Service', 'PodDisruptionBudget', 'NetworkPolicy']) {
      const { selector, podSelector } =
        manifests.find((one) => one.kind === selecting && one.metadata.name === metadata.name)?.spec ?? {};
      t.deepEqual((podSelector ?? selector)?.matchLabels ?? selector, labels, `${selecting} of ${metadata.name}`);
    }
  }
});

testUnless(missing('docker-compose'))('Compose - docker-compose accepts the file without a warning', async (t) => {
  const { stderr } = await sh('docker-compose', ['--file', COMPOSE, 'config', '--quiet']);
  t.is(stderr, '');
});

testUnless(noGo)('Manifests - have only what Kubernetes and cert-manager know, and "restricted" pods', async (t) => {
  t.timeout(600_000, 'the program is compiled');
  const paths = [`${KUBERNETES}/base`, `${KUBERNETES}/migration.yaml`];
  const read = (await go(['run', '.', ...paths], {}, `${import.meta.dirname}/manifests`)).trim().split('\n');
  t.deepEqual(read.sort(), manifests.map(({ kind }) => kind).sort());
});

const systemdTest = testUnless(missing('systemd-analyze', 'systemd'));

systemdTest('Units - systemd-analyze verify reports nothing', async (t) => {
  const folder = temporaryFolder(t);
  cpSync(UNITS, folder, { recursive: true, verbatimSymlinks: true });
  const files = globSync('*.{service,timer}', { cwd: UNITS }).map((name) => {
    const file = `${folder}/${name.replace('@', '@50051')}`; // an instance: a template is not loaded
    writeFileSync(file, readUnit(name).replaceAll('/opt/petstore', ROOT));
    return file;
  });
  const { stdout, stderr } = await sh('systemd-analyze', ['verify', ...files]);
  t.is(stdout + stderr, '');
});

systemdTest(`Units - have an exposure level of at most ${MOST_EXPOSED} of 10`, async (t) => {
  for (const name of services) {
    const threshold = `--threshold=${MOST_EXPOSED * 10}`;
    const args = ['security', '--offline=true', threshold, '--no-pager', `${UNITS}/${name}`];
    const { stdout } = await sh('systemd-analyze', args).catch((error: { stdout: string }) => error);
    t.regex(stdout, /Overall exposure level for .*: [01]\.\d OK/);
  }
});

testUnless(noOpenssl)("Certificates - the group can read their keys, the owner alone the authority's", async (t) => {
  const folder = `${temporaryFolder(t)}/internal`;
  const { stdout } = await sh(`${ROOT}/deploy/make-certificates.sh`, [folder, 'petstore-0', '10.0.0.11', '::1']);
  t.regex(stdout, /for DNS:petstore-0,IP:10\.0\.0\.11,IP:::1;/);
  const modes = ['ca.key', 'server.key', 'edge.key'].map((name) => statSync(`${folder}/${name}`).mode & 0o777);
  t.deepEqual(modes, [0o600, 0o640, 0o640]);
});
