/**
 * Kubernetes without kubelets: etcd, an API server, the controllers and the scheduler on loopback, and three nodes.
 * What a kubelet would report is written to the pods' status: each scheduled pod is ready, a job's has ended, a deleted
 * one is gone.
 */
import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, openSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { promisify } from 'node:util';
import type { ExecutionContext } from 'ava';
import { ROOT } from '../../src/platform/launcher/paths.ts';
import { temporaryFolder } from '../support/machine/folder.ts';
import { freePorts } from '../support/machine/ports.ts';
import { until } from '../support/until.ts';

const sh = promisify(execFile);
const POLL_MS = 250;
const SHELL_MS = 120_000;
const JSON_PATCH = { 'content-type': 'application/strategic-merge-patch+json' };

export interface Pod {
  readonly metadata: {
    readonly name: string;
    readonly labels: Readonly<Record<string, string>>;
    readonly deletionTimestamp?: string;
  };
  readonly spec: {
    readonly nodeName?: string;
    readonly restartPolicy: string;
    readonly volumes: readonly {
      readonly secret?: { readonly secretName: string };
      readonly projected?: object;
    }[];
  };
  readonly status: {
    readonly phase: string;
    readonly podIP?: string;
    readonly conditions?: readonly { readonly type: string; readonly status: string }[];
  };
}

/** `built` is the folder of scripts/kubernetes.ts. */
export async function startCluster(t: Pick<ExecutionContext, 'teardown'>, built: string) {
  const program = join(built, 'kubernetes');
  const folder = temporaryFolder(t);
  const [etcd = 0, peers = 0, api = 0, proxy = 0] = await freePorts(4);
  const run = (command: string, args: readonly string[]) => {
    const log = openSync(join(folder, `${args[0]?.replace(/\W/g, '')}.log`), 'w');
    const child = spawn(command, args, { cwd: folder, env, stdio: ['ignore', log, log] });
    const ended = once(child, 'exit');
    t.teardown(() => child.exitCode === null && child.kill('SIGKILL') && ended);
  };
  const env = { ...process.env, KUBECONFIG: join(folder, 'kubeconfig'), PATH: `${folder}/bin:${process.env.PATH}` };
  mkdirSync(join(folder, 'bin'));
  writeFileSync(join(folder, 'bin/kubectl'), `#!/bin/sh\nexec ${program} kubectl "$@"\n`, { mode: 0o755 });
  symlinkSync(join(ROOT, 'deploy'), join(folder, 'deploy'));
  const cluster = { server: `https://127.0.0.1:${api}`, 'certificate-authority': join(folder, 'tls/apiserver.crt') };
  const config = {
    clusters: [{ name: 'here', cluster }],
    users: [{ name: 'admin', user: { token: 'token' } }],
    contexts: [{ name: 'here', context: { cluster: 'here', user: 'admin' } }],
    'current-context': 'here',
  };
  writeFileSync(env.KUBECONFIG, JSON.stringify(config), { mode: 0o600 });
  writeFileSync(join(folder, 'tokens'), 'token,admin,1,system:masters\n');
  await sh('openssl', ['genrsa', '-out', join(folder, 'accounts.key'), '2048']);

  const [clients, peer] = [etcd, peers].map((port) => `http://127.0.0.1:${port}`);
  run('etcd', [
    ...[
      '--data-dir=etcd',
      '--unsafe-no-fsync',
      `--listen-client-urls=${clients}`,
      `--advertise-client-urls=${clients}`,
    ],
    ...[`--listen-peer-urls=${peer}`, `--initial-advertise-peer-urls=${peer}`, `--initial-cluster=default=${peer}`],
  ]);
  run(program, [
    ...['apiserver', `--etcd-servers=${clients}`, '--bind-address=127.0.0.1', `--secure-port=${api}`, '--cert-dir=tls'],
    ...['--token-auth-file=tokens', '--authorization-mode=RBAC', '--service-cluster-ip-range=10.96.0.0/16'],
    ...['--service-account-issuer=https://kubernetes.example', '--service-account-key-file=accounts.key'],
    '--service-account-signing-key-file=accounts.key',
  ]);
  const kubectl = async (...args: string[]) => (await sh('kubectl', args, { cwd: folder, env })).stdout;
  await until(() => kubectl('get', '--raw', '/readyz').catch(() => undefined), 'the API server');
  const controls = ['--kubeconfig=kubeconfig', '--leader-elect=false', '--secure-port=0'];
  // Without the controller that misses the kubelets.
  const controllers = ['--controllers=*,-node-lifecycle-controller', '--horizontal-pod-autoscaler-sync-period=2s'];
  run(program, ['controllers', ...controls, ...controllers, '--service-account-private-key-file=accounts.key']);
  run(program, ['scheduler', ...controls]);
  run(program, ['kubectl', 'proxy', `--port=${proxy}`]);

  /** A request to the API. Resolves with the status and the object. */
  const request = async (path: string, method = 'GET', body?: object, headers: Record<string, string> = {}) => {
    const init = { method, headers: { 'content-type': 'application/json', ...headers } };
    const response = await fetch(
      `http://127.0.0.1:${proxy}${path}`,
      body ? { ...init, body: JSON.stringify(body) } : init,
    );
    return { status: response.status, object: await response.json() };
  };
  const path = (pod: Pod, sub = '') => `/api/v1/namespaces/petstore/pods/${pod.metadata.name}${sub}`;
  const pods = async (name?: string): Promise<readonly Pod[]> => {
    const { items } = (await request('/api/v1/namespaces/petstore/pods')).object as { items: readonly Pod[] };
    return items.filter(({ metadata }) => name === undefined || metadata.labels['app.kubernetes.io/name'] === name);
  };
  await until(() => pods().catch(() => undefined), 'the proxy');
  await kubectl('apply', '--server-side', `--filename=${built}/cert-manager.yaml`);
  for (const [index, zone] of ['a', 'b', 'c'].entries()) await addNode(request, `node-${index}`, zone);

  const unready = new Set<string>();
  let isHolding = false;
  let fewest = Number.POSITIVE_INFINITY;
  let isClosing = false;
  let addresses = 0;
  const report = async (pod: Pod) => {
    if (pod.metadata.deletionTimestamp !== undefined) await request(path(pod), 'DELETE', { gracePeriodSeconds: 0 });
    else if (pod.spec.nodeName !== undefined) {
      const isJob = pod.spec.restartPolicy === 'Never';
      const wanted = isJob || unready.has(pod.metadata.name) ? 'False' : 'True';
      if (isHolding && pod.status.phase === 'Pending') return;
      const { phase, podIP = `10.1.0.${++addresses}` } = pod.status;
      if (phase === 'Succeeded' || (phase === 'Running' && isReady(pod) === (wanted === 'True'))) return;
      const conditions = ['Ready', 'ContainersReady'].map((type) => ({
        type,
        status: wanted,
        lastTransitionTime: now(),
      }));
      const status = { phase: isJob ? 'Succeeded' : 'Running', podIP, podIPs: [{ ip: podIP }], conditions };
      await request(path(pod, '/status'), 'PATCH', { status }, JSON_PATCH);
    }
  };
  const reporting = (async () => {
    while (!isClosing) {
      const all = await pods();
      const servers = all.filter((pod) => pod.metadata.labels['app.kubernetes.io/name'] === 'petstore-server');
      fewest = Math.min(fewest, servers.filter(isReady).length);
      for (const pod of all) await report(pod);
      await delay(POLL_MS);
    }
  })();
  t.teardown(() => {
    isClosing = true;
    return reporting.catch(() => undefined);
  });
  return {
    folder,
    kubectl,
    request,
    pods,
    path,
    /** The names of pods that are not ready. */
    unready,
    /** Whether new pods don't become ready. */
    hold(isOn: boolean) {
      isHolding = isOn;
    },
    /** Runs commands of a shell in a folder with `deploy`. */
    shell: (script: string) => sh('sh', ['-euc', script], { cwd: folder, env, timeout: SHELL_MS }),
    /** The smallest number of ready servers while `work` ran. */
    async fewestServers(work: () => Promise<unknown>) {
      fewest = Number.POSITIVE_INFINITY;
      await work();
      return fewest;
    },
  };
}

export function isReady({ metadata, status }: Pod): boolean {
  const ready = status.conditions?.some(({ type, status: is }) => type === 'Ready' && is === 'True');
  return ready === true && metadata.deletionTimestamp === undefined;
}

function now(): string {
  return new Date().toISOString().replace(/\.\d+/, '');
}

type Request = (path: string, method?: string, body?: object, headers?: Record<string, string>) => Promise<unknown>;

async function addNode(request: Request, name: string, zone: string): Promise<void> {
  const labels = { 'kubernetes.io/hostname': name, 'topology.kubernetes.io/zone': zone };
  await request('/api/v1/nodes', 'POST', { metadata: { name, labels } });
  const room = { cpu: '8', memory: '16Gi', pods: '110', 'ephemeral-storage': '100Gi' };
  const conditions = [{ type: 'Ready', status: 'True', reason: 'KubeletReady', message: '', lastHeartbeatTime: now() }];
  const status = { capacity: room, allocatable: room, conditions };
  await request(`/api/v1/nodes/${name}/status`, 'PATCH', { status }, JSON_PATCH);
  await request(`/api/v1/nodes/${name}`, 'PATCH', { spec: { taints: null } }, JSON_PATCH);
}
