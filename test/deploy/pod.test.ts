/**
 * The pods of Kubernetes as far as this machine can have them: the files that the Containerfile copies, on a root
 * file system of their own that can only be read, and the user, variables, secrets and certificates of the manifests.
 * The commands of docs/operations.md run in them. Only the addresses are others: nothing leaves loopback.
 */
import { execFile } from 'node:child_process';
import { chmodSync, cpSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { parse } from 'yaml';
import { ROOT } from '../../src/platform/launcher/paths.ts';
import { temporaryFolder } from '../support/machine/folder.ts';
import { noNamespaces } from '../support/machine/namespaces.ts';
import { freePorts } from '../support/machine/ports.ts';
import { postgresMissing, startPostgres } from '../support/machine/postgres.ts';
import { testUnless } from '../support/machine/programs.ts';
import { MISSING_REDIS_SERVER, startRedis } from '../support/machine/redis.ts';
import { childrenOf } from '../support/service/launcher.ts';
import { Program } from '../support/service/process.ts';
import { until } from '../support/until.ts';

const sh = promisify(execFile);
const read = (file: string) => readFileSync(join(ROOT, file), 'utf8');
const NAMESPACES = ['--mount', '--pid', '--fork', '--kill-child'];
const test = testUnless(postgresMissing ?? MISSING_REDIS_SERVER ?? noNamespaces);

/** Runs a program of the image in the folder $1. */
const START = `
  mount --make-rprivate / && mount --bind "$1" "$1" && cd "$1"
  for folder in usr/lib usr/lib64 dev; do mount --rbind "/$folder" "$folder"; done
  mount --bind "$2" opt/petstore/node_modules
  mount -t proc proc proc
  mount -o remount,bind,ro "$1"
  mount -t tmpfs -o mode=1777 tmpfs data
  shift 2
  exec unshare --root=. --wd=/opt/petstore --setgid=65532 --setuid=65532 /opt/petstore/node_modules/node/bin/node "$@"`;

type Container = { readonly env: readonly { readonly name: string; readonly value: string }[]; args?: string[] };

/** The first container of a manifest. */
const containerOf = (file: string): Container =>
  parse(read(file).split('\n---\n')[0] ?? '').spec.template.spec.containers[0];

test('Pods - migration, server and the first account of the page work with what a pod has', async (t) => {
  const [postgres, redis] = [await startPostgres(t), await startRedis(t)];
  const root = join(temporaryFolder(t), 'root');
  for (const folder of [
    'usr/lib',
    'usr/lib64',
    'dev',
    'proc',
    'data',
    'secrets',
    'internal-tls',
    'opt/petstore/node_modules',
  ])
    mkdirSync(join(root, folder), { recursive: true });
  for (const link of ['lib', 'lib64']) symlinkSync(`usr/${link}`, join(root, link));
  const [, image = ''] =
    /^FROM \S+ AS node\n(.*?)^FROM node AS edge/ms.exec(read('deploy/container/Containerfile')) ?? [];
  for (const [, mode, from = '', to = ''] of image.matchAll(/^COPY (--chmod=755 )?([^-]\S*) (\S+)$/gm)) {
    const folder = join(root, to.startsWith('/') ? to : join('/opt/petstore', to));
    const target = to.endsWith('/') ? join(folder, from.split('/').at(-1) ?? '') : folder;
    cpSync(join(ROOT, from), target, { recursive: true });
    if (mode === undefined) await sh('chmod', ['--recursive', 'go-rwx', target]); // a checkout with umask 077
  }
  const secrets = { 'database-url': await postgres.createDatabase(), 'redis-url': redis.config.urls[0] };
  for (const [name, text] of Object.entries({ ...secrets, 'operator-key': 'an-operator-key-of-a-pod' }))
    writeFileSync(join(root, 'secrets', name), `${text}\n`);
  const certificates = join(dirname(root), 'certificates');
  await sh(join(ROOT, 'deploy/make-certificates.sh'), [certificates, 'petstore-server']);
  for (const [from, to] of [
    ['ca.pem', 'ca.crt'],
    ['server.pem', 'tls.crt'],
    ['server.key', 'tls.key'],
  ] as const) {
    cpSync(join(certificates, from), join(root, 'internal-tls', to));
    chmodSync(join(root, 'internal-tls', to), 0o644);
  }
  const [grpc, metrics] = await freePorts(2);
  const here = { GRPC_HOST: '127.0.0.1', GRPC_PORT: `${grpc}`, METRICS_HOST: '127.0.0.1', METRICS_PORT: `${metrics}` };
  const envOf = ({ env }: Container) => Object.fromEntries(env.map(({ name, value }) => [name, value]));
  const start = ['unshare', ...NAMESPACES, 'sh', '-euc', START, 'sh', root, join(ROOT, 'node_modules')];
  const pod = (manifest: string, settings: object) => {
    const container = containerOf(`deploy/kubernetes/${manifest}`);
    return {
      env: { PATH: process.env.PATH, ...envOf(container), ...settings },
      args: container.args ?? ['src/main.ts'],
    };
  };

  const migration = pod('migration.yaml', {});
  await sh(start[0] ?? '', [...start.slice(1), ...migration.args], { env: migration.env });
  const running = pod('base/server.yaml', here);
  const server = new Program(start[0] ?? '', [...start.slice(1), ...running.args], { env: running.env });
  const stop = async (signal: NodeJS.Signals) => {
    for (const { pid } of await childrenOf(server.pid)) process.kill(pid, signal); // process 1 of the pod
    return server.ended;
  };
  t.teardown(() => stop('SIGKILL'));
  await until(
    () =>
      fetch(`http://127.0.0.1:${metrics}/metrics`)
        .then(({ ok }) => ok)
        .catch(() => false),
    'the server',
  );

  const [, commands = ''] = /\*\*4\. The first account\*\*.*?```sh\n(.*?)```/s.exec(read('docs/operations.md')) ?? [];
  const inPod = `kubectl() { while [ "$1" != -- ]; do shift; done; shift 2; "$POD" "$@"; }\n`;
  const script = join(dirname(root), 'pod');
  const words = start.map((word) => `'${word.replaceAll("'", "'\\''")}'`).join(' ');
  writeFileSync(script, `#!/bin/sh\nexec ${words} "$@"\n`, { mode: 0o755 });
  const { stdout } = await sh('sh', ['-euc', inPod + commands], { env: { ...running.env, POD: script } });
  t.regex(stdout, /name +Acme Ltd\nplan +pro\n.*begins with +pst_.*\npst_\w{38}\n/s);
  t.like(await stop('SIGTERM'), { code: 0 });
});
