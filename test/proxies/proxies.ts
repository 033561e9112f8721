/** Real proxies in front of the service, with the configurations of deploy/proxies that the docs show. */
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { Door } from '../support/calls/callers.ts';
import { findProgram, missing } from '../support/machine/find-program.ts';
import { temporaryFolder } from '../support/machine/folder.ts';
import { freePorts, isFree } from '../support/machine/ports.ts';
import type { Certificates } from '../support/machine/tls.ts';
import type { Scope } from '../support/scope.ts';
import { Program } from '../support/service/process.ts';
import { until } from '../support/until.ts';

/** The folder, ports, service and certificates of a proxy. */
interface Setup {
  readonly folder: string;
  readonly port: number;
  readonly redirectPort: number;
  readonly service: string;
  readonly certificates: Certificates;
}

const CONFIGURATIONS = fileURLToPath(new URL('../../deploy/proxies', import.meta.url));
/** The service's address in all configurations. */
const SERVICE = '127.0.0.1:8080';

export const nginx = kind('nginx', async ({ folder, port, redirectPort, service, certificates }) => {
  await adapt('nginx.conf', join(folder, 'petstore.conf'), {
    [SERVICE]: service,
    'listen 80;': `listen 127.0.0.1:${redirectPort};`,
    'listen [::]:80;': `listen [::1]:${redirectPort};`,
    'listen 443 ': `listen 127.0.0.1:${port} `,
    'listen [::]:443 ': `listen [::1]:${port} `,
    '/etc/ssl/petstore/cert.pem': certificates.path('server.pem'),
    '/etc/ssl/petstore/key.pem': certificates.path('server-key.pem'),
  });
  return nginxWith(folder, 'include petstore.conf;');
});

/** nginx as somebody sets it up who sets nothing: HTTP/1.0 to the service, and it buffers responses. */
export const plainNginx = kind('nginx', ({ folder, port, service }) =>
  nginxWith(folder, `server { listen 127.0.0.1:${port}; location / { proxy_pass http://${service}; } }`),
);

/** The rest of a distribution's nginx.conf. */
async function nginxWith(folder: string, server: string): Promise<readonly string[]> {
  const temporary = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi'];
  const main = [
    ...['daemon off;', `pid ${folder}/pid;`, 'error_log stderr;', 'events {}', 'http {', 'access_log off;'],
    ...temporary.map((name) => `${name}_temp_path ${folder}/${name};`),
    ...[server, '}'],
  ];
  await writeFile(join(folder, 'nginx.conf'), main.join('\n'));
  return ['-p', folder, '-e', 'stderr', '-c', join(folder, 'nginx.conf')];
}

/** HAProxy as a TCP load balancer, with the PROXY protocol. */
export const haproxyTcp = kind('haproxy', async ({ folder, port, service }) => {
  const file = join(folder, 'haproxy.cfg');
  const bind = `bind 127.0.0.1:${port},::1:${port} `;
  await adapt('haproxy-tcp.cfg', file, { [SERVICE]: service, 'bind :443,:::443 ': bind });
  return ['-db', '-f', file];
});

/** Copies a configuration and replaces texts in it. Throws if one of them is missing. */
async function adapt(name: string, to: string, replaced: Readonly<Record<string, string>>): Promise<void> {
  let text = await readFile(join(CONFIGURATIONS, name), 'utf8');
  for (const [from, by] of Object.entries(replaced)) {
    if (!text.includes(from)) throw new Error(`${name} has no "${from}"`);
    text = text.replaceAll(from, by);
  }
  await writeFile(to, text);
}

/** `prepare` resolves with the arguments of the program. */
function kind(name: string, prepare: (setup: Setup) => Promise<readonly string[]>) {
  const program = findProgram([name], ['/usr/sbin']);
  return {
    /** What is missing, for `testUnless`. */
    missing: missing(name, undefined, ['/usr/sbin']),
    /** Starts a proxy in front of the service at `servicePort`, until the teardown. */
    async start(t: Scope, servicePort: number, certificates: Certificates) {
      const folder = temporaryFolder(t);
      const [port = 0, redirectPort = 0] = await freePorts(2);
      const service = `127.0.0.1:${servicePort}`;
      const args = await prepare({ folder, port, redirectPort, service, certificates });
      const child = new Program(program ?? name, args);
      t.teardown(() => child.end('SIGTERM'));
      await until(async () => {
        if (child.hasEnded) throw new Error(`${name} has ended: ${child.errors}`);
        return !(await isFree(port));
      }, name);
      const door: Door = { port, ca: await certificates.read('ca.pem') };
      return {
        /** Where callers connect. */
        door,
        /** The port that redirects plain HTTP to HTTPS, if it has one. */
        redirectPort,
      };
    },
  };
}
