/** Checks that the Containerfile and the compose file agree with the repository. No image is built. */
import { execFile } from 'node:child_process';
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync } from 'node:fs';
import { createServer } from 'node:http';
import { type AddressInfo, createServer as createTcpServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import test from 'ava';
import { parse } from 'yaml';
import { SETTINGS } from '../../src/config/settings.ts';
import { DRAIN_MS } from '../../src/launcher/component.ts';
import { findProgram } from '../support/find-program.ts';
import { testUnless } from '../support/programs.ts';

const sh = promisify(execFile);
const ROOT = fileURLToPath(new URL('../..', import.meta.url));
const CONTAINERFILE = readFileSync(join(ROOT, 'deploy/container/Containerfile'), 'utf8');
const COMPOSE_FILE = join(ROOT, 'deploy/compose/compose.yaml');
const compose = parse(readFileSync(COMPOSE_FILE, 'utf8'), { merge: true });
const ownServices = ['edge', 'server-1', 'server-2', 'server-3', 'migrate'];

const HOW = 'NO DOCKER-COMPOSE FOUND, so compose.yaml is not tested by it: install it (apt-get install docker-compose)';
const composeTest = testUnless(findProgram(['docker-compose']) === undefined ? HOW : undefined);

test('Containerfile - every copied file exists, and .dockerignore includes it', (t) => {
  const allowed = readFileSync(join(ROOT, '.dockerignore'), 'utf8').match(/(?<=^!).+$/gm) ?? [];
  const copies = [...CONTAINERFILE.matchAll(/^COPY (?!--from)(.+) \S+$/gm)].flatMap(([, files = '']) =>
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

test('Containerfile - starts existing programs, not as root, with known settings', (t) => {
  const programs = [...CONTAINERFILE.matchAll(/^CMD \["(src\/[^"]+)"\]$/gm)].map(([, program = '']) => program);
  t.is(programs.length, 2);
  for (const program of programs) t.true(existsSync(join(ROOT, program)), program);
  t.regex(CONTAINERFILE, /^USER 65532:65532$/m);
  for (const [, variables = ''] of CONTAINERFILE.matchAll(/^ENV (.+)$/gm)) {
    for (const variable of variables.split(' '))
      t.true(Object.hasOwn(SETTINGS, variable.split('=')[0] ?? ''), variable);
  }
});

test('Probe - succeeds for status 200 and an open port, and fails otherwise', async (t) => {
  const server = createServer(({ url }, response) => response.writeHead(url === '/good' ? 200 : 503).end());
  const plain = createTcpServer();
  for (const one of [server, plain]) await new Promise<void>((done) => one.listen(0, '127.0.0.1', done));
  t.teardown(() => [server, plain].map((one) => one.close()));
  const [http, tcp] = [server, plain].map((one) => (one.address() as AddressInfo).port);
  t.is(await probe(`http://127.0.0.1:${http}/good`), '');
  t.is(await probe(`tcp://127.0.0.1:${tcp}`), '');
  t.is(await probe(`http://127.0.0.1:${http}/bad`), 'probe: status 503\n');
  t.is(await probe('tcp://127.0.0.1:1'), 'probe: connect ECONNREFUSED 127.0.0.1:1\n');
  t.is(await probe(`http://127.0.0.1:${tcp}/`), 'probe: no answer in 2500 ms\n');
});

composeTest('Compose - docker-compose accepts the file without a warning', async (t) => {
  const { stderr } = await sh('docker-compose', ['--file', COMPOSE_FILE, 'config', '--quiet']);
  t.is(stderr, '');
});

for (const [name, service] of Object.entries<Record<string, never>>(compose.services)) {
  test(`Compose: ${name} - has a read-only file system, no capabilities, and a port only at the edge`, (t) => {
    t.like(service, { read_only: true, cap_drop: ['ALL'], security_opt: ['no-new-privileges:true'] });
    t.is(service.ports !== undefined, name === 'edge');
  });
}

for (const name of ownServices) {
  const { environment, secrets, stop_grace_period } = compose.services[name];

  test(`Compose: ${name} - has known settings, secrets from files, and enough time to drain`, (t) => {
    for (const [variable, value] of Object.entries<string>(environment)) {
      t.true(Object.hasOwn(SETTINGS, variable.replace(/_FILE$/, '')), variable);
      const [, secret] = /^\/run\/secrets\/(.+)$/.exec(value) ?? [];
      if (secret !== undefined) t.true(secrets.includes(secret), secret);
    }
    t.true(Number.parseInt(stop_grace_period, 10) * 1_000 > DRAIN_MS);
  });
}

test('Compose - make-secrets.sh creates all secrets in a private folder; a second run keeps passwords', async (t) => {
  const parent = mkdtempSync(join(tmpdir(), 'petstore-secrets-'));
  t.teardown(() => rmSync(parent, { recursive: true, force: true }));
  const folder = join(parent, 'secrets');
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
function probe(url: string): Promise<string> {
  return new Promise((resolve) => {
    execFile(process.execPath, [join(ROOT, 'deploy/container/probe.mjs'), url], (_, __, errors) => resolve(errors));
  });
}
