/** The running service uses a renewed certificate. */
import { once } from 'node:events';
import { copyFile, mkdir, readFile, rename, rm, stat, writeFile } from 'node:fs/promises';
import { Agent, get } from 'node:https';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import type { TLSSocket } from 'node:tls';
import { createClient } from '../../gen/client/index.ts';
import { callFrom, type Door, openFrom } from '../support/calls/callers.ts';
import { startLoad, untilMore } from '../support/calls/load.ts';
import { type Certificates, makeCertificates, noOpenssl } from '../support/machine/tls.ts';
import { type SharedBy, sharing } from '../support/service/sharing.ts';
import { startTestStack } from '../support/service/stack.ts';
import { until } from '../support/until.ts';

/** Files are read every second. */
const NOTICED_MS = 2_500;

const test = sharing(noOpenssl, async (t) => {
  const certificates = await makeCertificates(t);
  for (const name of ['first', 'second']) await certificates.issue(name, 'DNS:localhost');
  await certificates.issue('third', 'DNS:localhost', ['-newkey', 'rsa:2048']);
  /** Of the files that the service uses, `tls.crt` and `tls.key`. */
  const folder = certificates.path('live');
  await mkdir(folder);
  await putIn(folder, certificates, 'first');
  const stack = await startTestStack(t, { TLS_CERT: join(folder, 'tls.crt'), TLS_KEY: join(folder, 'tls.key') });
  return { certificates, ca: await certificates.read('ca.pem'), folder, stack };
});
type Context = SharedBy<typeof test>;

const doorOf = ({ ca, stack: { config } }: Context): Door => ({ port: config.port, ca });

/** The subject of the certificate, on a new connection. */
async function served(context: Context): Promise<string | undefined> {
  const socket = openFrom('127.0.0.1', doorOf(context)) as TLSSocket;
  await once(socket, 'secureConnect');
  const { subject } = socket.getPeerCertificate();
  socket.destroy();
  return String(subject.CN);
}

const named = (name: string) => `petstore test ${name}`;

function untilServed(context: Context, name: string): Promise<boolean> {
  return until(async () => (await served(context)) === named(name), `the certificate of ${name}`);
}

/** Puts a certificate and its key into a folder. Replaces each file atomically. */
async function putIn(folder: string, certificates: Certificates, name: string): Promise<void> {
  for (const [file, target] of Object.entries({ [`${name}-key.pem`]: 'tls.key', [`${name}.pem`]: 'tls.crt' })) {
    await copyFile(certificates.path(file), join(folder, `${target}.new`));
    await rename(join(folder, `${target}.new`), join(folder, target));
  }
}

test.serial('Renewal - loses no request and keeps open connections', async (t) => {
  const { certificates, folder, ca, stack } = t.context;
  const url = `https://localhost:${stack.config.port}/pets`;
  const headers = { authorization: `Bearer ${stack.key}` };
  const client = createClient({ address: url.slice(8, -5), apiKey: stack.key, tls: { ca }, maxAttempts: 1 });
  const agent = new Agent({ keepAlive: true, maxSockets: 1, ca });
  let connections = 0;
  const kept = () =>
    new Promise<string>((resolve, reject) => {
      const request = get(url, { agent, headers }, (response) => {
        if (!request.reusedSocket) connections += 1;
        response.resume().on('end', () => resolve(String(response.statusCode)));
      }).on('error', reject);
    });
  const loads = [
    startLoad(1, async () => String((await callFrom('127.0.0.1', doorOf(t.context), 'HTTP/1.1', { headers })).status)),
    startLoad(1, kept),
    startLoad(1, async () => client.pets.listPets({}).then(() => '200')),
  ];
  for (const name of ['second', 'third', 'first']) {
    await putIn(folder, certificates, name);
    t.true(await untilServed(t.context, name));
    await Promise.all(loads.map((load) => untilMore(load, 10)));
  }
  await Promise.all(loads.map((load) => load.stop()));
  agent.destroy();
  await client.close();
  for (const load of loads) t.deepEqual([...load.answers.keys()], ['200']);
  t.is(connections, 1);
});

test.serial('Renewal - half of it changes nothing, and Envoy restarts with the previous pair', async (t) => {
  const { certificates, folder, stack } = t.context;
  const secret = join(stack.config.dataDir, 'public.sds.json');
  const before = await readFile(secret, 'utf8');
  t.is((await stat(secret)).mode & 0o777, 0o600, 'it has the private key');
  await copyFile(certificates.path('second.pem'), join(folder, 'tls.crt'));
  await delay(NOTICED_MS);
  stack.stack.envoy.process.kill('SIGKILL');
  await until(() => served(t.context).catch(() => undefined), 'a response');
  t.is(await served(t.context), named('first'));
  t.is(await readFile(secret, 'utf8'), before);

  await writeFile(join(folder, 'tls.key'), ''); // as during a write
  await copyFile(certificates.path('second-key.pem'), join(folder, 'tls.key'));
  t.true(await untilServed(t.context, 'second'));
  await rm(join(folder, 'tls.key'));
  await copyFile(certificates.path('third.pem'), join(folder, 'tls.crt'));
  await delay(NOTICED_MS);
  t.is(await served(t.context), named('second'));
});
