/** The Containerfile, the probe, the compose file and the pods of Kubernetes, as far as they go without an image. */
import { once } from 'node:events';
import { chmodSync, cpSync, mkdirSync, readdirSync, readFileSync, statSync, symlinkSync, writeFileSync } from 'node:fs';
import { createServer, type RequestListener } from 'node:http';
import { createServer as createHttpsServer } from 'node:https';
import { type AddressInfo, createServer as createTcpServer } from 'node:net';
import { dirname, join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import test from 'ava';
import { parse } from 'yaml';
import { readStages } from '../../scripts/release/containerfile.ts';
import { ROOT } from '../../src/platform/launcher/paths.ts';
import { sh } from '../support/machine/find-program.ts';
import { noNamespaces } from '../support/machine/namespaces.ts';
import { postgresMissing, startPostgres } from '../support/machine/postgres.ts';
import { MISSING_REDIS_SERVER, startRedis } from '../support/machine/redis.ts';
import { makeCertificates, noOpenssl } from '../support/machine/tls.ts';
import { freePorts, listen, temporaryFolder } from '../support/scope.ts';
import { scrape } from '../support/service/exposition.ts';
import { childrenOf, Program } from '../support/service/process.ts';
import { testUnless } from '../support/service/sharing.ts';
import { until } from '../support/until.ts';

const read = (file: string) => readFileSync(join(ROOT, file), 'utf8');
const STAGES = [...readStages(read('deploy/container/Containerfile')).values()];
const compose = parse(read('deploy/compose/compose.yaml'), { merge: true });
const IMAGE = STAGES.find(({ name }) => name === 'node')?.config;
const ENTRYPOINT = IMAGE?.Entrypoint?.map((word) => word.replace('/opt/petstore', ROOT)) ?? [];
const opensslTest = testUnless(noOpenssl);
const IN_NAMESPACE = ['--pid', '--fork', '--kill-child'];
const namespaceTest = testUnless(noNamespaces);
const podTest = testUnless(postgresMissing ?? MISSING_REDIS_SERVER ?? noNamespaces);

test('Containerfile - every copied file exists, Containerfile.dockerignore includes it; nothing runs as root', (t) => {
  t.is(IMAGE?.User, '65532:65532');
  const ignored = read('deploy/container/Containerfile.dockerignore');
  const allowed = ignored.match(/(?<=^!).+$/gm) ?? [];
  const copies = STAGES.flatMap(({ name, copies }) => copies.map((copy) => ({ ...copy, name })));
  const ofCheckout = copies.filter(({ stage }) => stage === undefined);
  t.true(ofCheckout.length >= 8);
  for (const { name, mode, from: file } of ofCheckout) {
    t.notThrows(() => statSync(join(ROOT, file)), file);
    const isAllowed = (entry: string) => `${file}/`.startsWith(`${entry}/`) || entry.startsWith(file);
    t.true(allowed.some(isAllowed), file);
    if (name !== 'build') t.is(mode, '755', `${file}: its user may not read the files of a checkout with umask 077`);
  }
});

for (const program of ['src/main.ts', 'src/migrate-main.ts']) {
  namespaceTest(`Process 1 - ${program} ends at SIGTERM while it waits for a database that is silent`, async (t) => {
    const silent = createTcpServer();
    const [grpcPort] = await freePorts(1);
    const DATABASE_URL = `postgres://petstore@${await listen(t, silent)}/petstore`;
    const env = { ...process.env, DATABASE_URL, GRPC_PORT: `${grpcPort}`, DATA_DIR: join(temporaryFolder(t), 'data') };
    const outside = new Program('unshare', [...IN_NAMESPACE, ...ENTRYPOINT, program], { cwd: ROOT, env });
    const [connection] = await once(silent, 'connection');
    for (const { pid } of await childrenOf(outside.pid)) process.kill(pid, 'SIGTERM');
    t.like(await outside.ended, { code: 1 }); // and not 75, as when the database does not answer in time
    connection.destroy();
  });
}

opensslTest('Probe - asks the URL, the port or what the settings name, with TLS and behind a proxy too', async (t) => {
  const certificates = await makeCertificates(t);
  const [cert, key] = await Promise.all(['server.pem', 'server-key.pem'].map(certificates.read));
  const respond: RequestListener = ({ url }, response) => response.writeHead(url === '/healthz' ? 200 : 503).end();
  const servers = [createServer(respond), createHttpsServer({ cert, key }, respond), createTcpServer()];
  for (const one of servers) await new Promise<void>((done) => one.listen(0, '0.0.0.0', done));
  t.teardown(() => servers.forEach((one) => void one.close()));
  const [http, https, tcp] = servers.map((one) => String((one.address() as AddressInfo).port));
  const settings = { HOST: '0.0.0.0', PORT: String(https), TLS_CERT: 'cert.pem', GRPC_PORT: '1' };
  const closed = 'probe: connect ECONNREFUSED 127.0.0.1:1\n';
  for (const [words, more, expected] of [
    [`http://127.0.0.1:${http}/healthz`, {}, ''],
    [`http://127.0.0.1:${http}/bad`, {}, 'probe: status 503\n'],
    [`http://127.0.0.1:${tcp}/`, {}, 'probe: no answer in 2500 ms\n'],
    ['healthz', {}, ''],
    ['healthz', { PORT: String(http), TLS_CERT: '' }, ''],
    ['healthz', { TLS_CERT: '', PROXY_PROTOCOL: 'yes' }, ''], // the port is open
    ['open PORT', {}, ''],
    ['open GRPC_PORT', {}, closed],
  ] as const) {
    t.is(await probe(words, { ...settings, ...more }), expected, words);
  }
  t.not(await probe('healthz', { ...settings, TLS_CERT: '' }), '', 'plain HTTP on a TLS port');
});

// Serial: a test that blocks this process keeps a port open for longer than the probe waits.
test.serial('Probe - waits for a port that stays open', async (t) => {
  const [port = 0] = await freePorts(1);
  const waiting = probe('--wait open GRPC_PORT', { GRPC_PORT: String(port) });
  let isCheck = true; // as `checkFree` in src/platform/process/ports.ts
  const server = createTcpServer((client) => isCheck && client.destroy());
  t.teardown(() => server.close());
  const connected = once(server, 'connection');
  server.listen(port, '127.0.0.1');
  await connected;
  t.is(await Promise.race([waiting, delay(1_000, 'waits')]), 'waits');
  isCheck = false;
  t.is(await waiting, '');
});

test('Compose - make-secrets.sh creates all secrets in a private folder; a second run keeps passwords', async (t) => {
  const folder = join(temporaryFolder(t), 'secrets');
  const make = () => sh(join(ROOT, 'deploy/compose/make-secrets.sh'), [folder]);
  await make();
  t.is(statSync(folder).mode & 0o777, 0o700);
  const files = Object.values<{ file: string }>(compose.secrets).map(({ file }) => file.replace('secrets/', ''));
  const made = readdirSync(folder);
  for (const file of files) t.true(made.includes(file), file);
  const before = readFileSync(join(folder, 'database-url'), 'utf8');
  await make();
  t.is(readFileSync(join(folder, 'database-url'), 'utf8'), before);

  const names = compose.services.edge.environment.SERVERS.split(',').map((server: string) => server.split(':')[0]);
  const read = ['x509', '-in', join(folder, 'server.pem'), '-noout', '-ext', 'subjectAltName'];
  const { stdout } = await sh('openssl', read);
  t.deepEqual(stdout.match(/(?<=DNS:)[^,\s]+/g), names);
  for (const leaf of ['server.pem', 'edge.pem']) {
    await t.notThrowsAsync(sh('openssl', ['verify', '-CAfile', join(folder, 'ca.pem'), join(folder, leaf)]));
  }
});

/** Returns the probe's error output, empty on success. */
async function probe(words: string, settings: Readonly<Record<string, string>> = {}): Promise<string> {
  const args = [join(ROOT, 'deploy/container/probe.mjs'), ...words.split(' ')];
  const program = new Program(process.execPath, args, { env: { ...process.env, ...settings } });
  await program.ended;
  return program.errors;
}

/**
 * A pod as far as this machine can have it: the files that the Containerfile copies, on a root file system of their own
 * that can only be read, and the user, variables, secrets and certificates of the manifests. The commands of
 * docs/operations.md run in it. Only the addresses are others: nothing leaves loopback. It runs a program of the image
 * in the folder $1.
 */
const START = `
  mount --make-rprivate / && mount --bind "$1" "$1" && cd "$1"
  for folder in usr/lib usr/lib64 dev; do mount --rbind "/$folder" "$folder"; done
  mount --bind "$2" opt/petstore/node_modules
  mount -t proc proc proc
  mount -o remount,bind,ro "$1"
  mount -t tmpfs -o mode=1777 tmpfs data
  shift 2
  exec unshare --root=. --wd=/opt/petstore --setgid=65532 --setuid=65532 "$@"`;

type Container = { readonly env: readonly { readonly name: string; readonly value: string }[]; args?: string[] };

const containerOf = (file: string): Container =>
  parse(read(file).split('\n---\n')[0] ?? '').spec.template.spec.containers[0];

podTest('Pods - migration, server and the first account of the page work with what a pod has', async (t) => {
  const [postgres, redis] = [await startPostgres(t), await startRedis(t)];
  const root = join(temporaryFolder(t), 'root');
  const folders = 'usr/lib usr/lib64 dev proc data secrets internal-tls opt/petstore/node_modules'.split(' ');
  for (const folder of folders) mkdirSync(join(root, folder), { recursive: true });
  for (const link of ['lib', 'lib64']) symlinkSync(`usr/${link}`, join(root, link));
  const copied = STAGES.filter(({ name }) => name === 'node' || name === 'server').flatMap(({ copies }) => copies);
  for (const { mode, from, to } of copied.filter(({ stage }) => stage === undefined)) {
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
  for (const [from, to] of Object.entries({ 'ca.pem': 'ca.crt', 'server.pem': 'tls.crt', 'server.key': 'tls.key' })) {
    cpSync(join(certificates, from), join(root, 'internal-tls', to));
    chmodSync(join(root, 'internal-tls', to), 0o644);
  }
  const [grpc, metrics] = await freePorts(2);
  const here = { GRPC_HOST: '127.0.0.1', GRPC_PORT: `${grpc}`, METRICS_HOST: '127.0.0.1', METRICS_PORT: `${metrics}` };
  const start = ['--mount', ...IN_NAMESPACE, 'sh', '-euc', START, 'sh', root, join(ROOT, 'node_modules')];
  const pod = (manifest: string, settings: object) => {
    const { env: own, args = ['src/main.ts'] } = containerOf(`deploy/kubernetes/${manifest}`);
    const variables = Object.fromEntries(own.map(({ name, value }) => [name, value]));
    const env = { PATH: process.env.PATH, ...variables, ...settings };
    return Object.assign(new Program('unshare', [...start, ...(IMAGE?.Entrypoint ?? []), ...args], { env }), { env });
  };

  const migration = pod('migration.yaml', {});
  t.like(await migration.ended, { code: 0 }, migration.errors);
  const server = pod('base/server.yaml', here);
  const stop = async (signal: NodeJS.Signals) => {
    for (const { pid } of await childrenOf(server.pid)) process.kill(pid, signal); // process 1 of the pod
    return server.ended;
  };
  t.teardown(() => stop('SIGKILL'));
  await until(() => scrape(metrics ?? 0).catch(() => ''), 'the server');

  const [, commands = ''] = /\*\*4\. The first account\*\*.*?```sh\n(.*?)```/s.exec(read('docs/operations.md')) ?? [];
  const inPod = `kubectl() { while [ "$1" != -- ]; do shift; done; shift; "$POD" "$@"; }\n`;
  const script = join(dirname(root), 'pod');
  const words = ['unshare', ...start].map((word) => `'${word.replaceAll("'", "'\\''")}'`).join(' ');
  writeFileSync(script, `#!/bin/sh\nexec ${words} "$@"\n`, { mode: 0o755 });
  const { stdout } = await sh('sh', ['-euc', inPod + commands], { env: { ...server.env, POD: script } });
  t.regex(stdout, /name +Acme Ltd\nplan +pro\n.*begins with +pst_.*\npst_\w{38}\n/s);
  t.like(await stop('SIGTERM'), { code: 0 });
});
