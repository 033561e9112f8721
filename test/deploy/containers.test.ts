/** The Containerfile, the probe and the compose file, as far as they go without an image. */
import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readdirSync, readFileSync, statSync } from 'node:fs';
import { createServer, type RequestListener } from 'node:http';
import { createServer as createHttpsServer } from 'node:https';
import { type AddressInfo, createServer as createTcpServer } from 'node:net';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { promisify } from 'node:util';
import test from 'ava';
import { parse } from 'yaml';
import { ROOT } from '../../src/platform/launcher/paths.ts';
import { temporaryFolder } from '../support/machine/folder.ts';
import { noNamespaces } from '../support/machine/namespaces.ts';
import { freePorts, listen } from '../support/machine/ports.ts';
import { testUnless } from '../support/machine/programs.ts';
import { makeCertificates, noOpenssl } from '../support/machine/tls.ts';

const sh = promisify(execFile);
const CONTAINERFILE = readFileSync(join(ROOT, 'deploy/container/Containerfile'), 'utf8');
const compose = parse(readFileSync(join(ROOT, 'deploy/compose/compose.yaml'), 'utf8'), { merge: true });

const opensslTest = testUnless(noOpenssl);
const IN_NAMESPACE = ['--pid', '--fork', '--kill-child'];
const namespaceTest = testUnless(noNamespaces);

test('Containerfile - every copied file exists, Containerfile.dockerignore includes it; nothing runs as root', (t) => {
  t.regex(CONTAINERFILE, /^USER 65532:65532$/m);
  const [, images = ''] = CONTAINERFILE.split(/^FROM \$\{BASE_IMAGE\}/m);
  t.notRegex(images, /^COPY (?!--from|--chmod=755)/m, 'its user may not read the files of a checkout with umask 077');
  const ignored = readFileSync(join(ROOT, 'deploy/container/Containerfile.dockerignore'), 'utf8');
  const allowed = ignored.match(/(?<=^!).+$/gm) ?? [];
  const copies = [...CONTAINERFILE.matchAll(/^COPY (?!--from)(?:--chmod=755 )?(.+) \S+$/gm)].flatMap(([, files = '']) =>
    files.split(' '),
  );
  t.true(copies.length >= 8);
  for (const file of copies) {
    t.true(existsSync(join(ROOT, file)), file);
    t.true(
      allowed.some((entry) => file === entry || file.startsWith(`${entry}/`) || entry.startsWith(file)),
      file,
    );
  }
});

for (const program of ['src/main.ts', 'src/migrate-main.ts']) {
  namespaceTest(`Process 1 - ${program} ends at SIGTERM while it waits for a database that is silent`, async (t) => {
    const silent = createTcpServer();
    const [grpcPort] = await freePorts(1);
    const DATABASE_URL = `postgres://petstore@${await listen(t, silent)}/petstore`;
    const env = { ...process.env, DATABASE_URL, GRPC_PORT: `${grpcPort}`, DATA_DIR: join(temporaryFolder(t), 'data') };
    const outside = spawn('unshare', [...IN_NAMESPACE, process.execPath, program], { cwd: ROOT, env });
    const [connection] = await once(silent, 'connection');
    const pid = Number(readFileSync(`/proc/${outside.pid}/task/${outside.pid}/children`, 'utf8'));
    process.kill(pid, 'SIGTERM');
    const [code] = await once(outside, 'exit');
    connection.destroy();
    t.is(code, 1); // and not 75, as when the database does not answer in time
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
function probe(words: string, settings: Readonly<Record<string, string>> = {}): Promise<string> {
  return new Promise((resolve) => {
    const args = [join(ROOT, 'deploy/container/probe.mjs'), ...words.split(' ')];
    const env = { ...process.env, ...settings };
    execFile(process.execPath, args, { env }, (_, __, errors) => resolve(errors));
  });
}
