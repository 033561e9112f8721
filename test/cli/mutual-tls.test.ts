/** The command against a server with mutual TLS: it presents the certificate of its host. */
import { temporaryFolder } from '../support/machine/folder.ts';
import { freePorts } from '../support/machine/ports.ts';
import { testUnless } from '../support/machine/programs.ts';
import { makeCertificates, noOpenssl } from '../support/machine/tls.ts';
import { TestProcess } from '../support/service/process.ts';
import { petstore } from './command.ts';

const HOST = '127.0.0.2';

testUnless(noOpenssl)("mutual TLS - the command works with the settings of the server's host alone", async (t) => {
  const folder = temporaryFolder(t);
  const [certificates, [port = 0]] = await Promise.all([makeCertificates(t), freePorts(1)]);
  await certificates.issue('petstore-0', `IP:${HOST},DNS:petstore-0,DNS:localhost`);
  const settings = {
    ...{ DATA_DIR: folder, GRPC_HOST: HOST, GRPC_PORT: String(port), DEMO_ACCOUNT: 'yes' },
    INTERNAL_TLS_CA: certificates.path('ca.pem'),
    INTERNAL_TLS_CERT: certificates.path('petstore-0.pem'),
    INTERNAL_TLS_KEY: certificates.path('petstore-0-key.pem'),
  };
  const server = new TestProcess('src/main.ts', settings);
  t.teardown(() => server.end('SIGKILL'));
  await server.says(/"serving"/);
  const command = petstore(settings);
  t.is(JSON.parse((await command(['account', 'list', '--json'])).stdout)[0].name, 'Demo');
  const tail = await command(['events', 'tail', '--after', '99', '--key-file', `${folder}/demo.key`]);
  t.regex(
    tail.stderr,
    /^petstore: --after 99 has not been reached, the newest event is 0: .*: read the lists again, then go on\n$/,
  );
});
