/** Real proxies in front of the service, with the configurations of deploy/proxies that the docs show. */
import { readFile, writeFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { type Door, PROTOCOLS, type Protocol } from '../support/calls/callers.ts';
import { findProgram, missing } from '../support/machine/find-program.ts';
import { onPort, query } from '../support/machine/postgres.ts';
import type { Certificates } from '../support/machine/tls.ts';
import { freePorts, isFree, type Scope, temporaryFolder } from '../support/scope.ts';
import { Program } from '../support/service/process.ts';
import { until } from '../support/until.ts';

export type RunningProxy = Awaited<ReturnType<ReturnType<typeof kind>['start']>>;

/** The folder, ports, service and certificates of a proxy. */
interface Setup {
  readonly folder: string;
  readonly port: number;
  readonly redirectPort: number;
  readonly service: string;
  readonly certificates: Certificates;
}

interface Command {
  readonly args: readonly string[];
  readonly env?: Readonly<Record<string, string>>;
}

const CONFIGURATIONS = fileURLToPath(new URL('../../deploy/proxies', import.meta.url));
/** The service's address in all configurations. */
const SERVICE = '127.0.0.1:8080';

const nginxOf = (name: string) => async (setup: Setup) => {
  const { folder, port, redirectPort, service, certificates } = setup;
  await adapt(name, `${folder}/petstore.conf`, {
    [SERVICE]: service,
    ...(redirectPort && {
      'listen 80;': `listen 127.0.0.1:${redirectPort};`,
      'listen [::]:80;': `listen [::1]:${redirectPort};`,
    }),
    'listen 443 ': `listen 127.0.0.1:${port} `,
    'listen [::]:443 ': `listen [::1]:${port} `,
    '/etc/ssl/petstore/cert.pem': certificates.path('server.pem'),
    '/etc/ssl/petstore/key.pem': certificates.path('server-key.pem'),
  });
  return nginxWith(folder, 'include petstore.conf;');
};
export const nginx = kind('nginx', nginxOf('nginx.conf'));

/** nginx as somebody sets it up who sets nothing: HTTP/1.0 to the service, and it buffers responses. */
export const plainNginx = kind(
  'nginx',
  ({ folder, port, service }) =>
    nginxWith(folder, `server { listen 127.0.0.1:${port}; location / { proxy_pass http://${service}; } }`),
  { redirects: false },
);

/** The rest of a distribution's nginx.conf. */
async function nginxWith(folder: string, server: string): Promise<Command> {
  const kinds = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi'];
  const temporary = kinds.map((kind) => `${kind}_temp_path ${folder}/${kind};`).join('\n');
  const http = `http {\naccess_log off;\n${temporary}\n${server}\n}`;
  await writeFile(`${folder}/nginx.conf`, `daemon off;\npid ${folder}/pid;\nerror_log stderr;\nevents {}\n${http}`);
  return { args: ['-p', folder, '-e', 'stderr', '-c', `${folder}/nginx.conf`] };
}

const haproxyOf =
  (name: string, hasTls = true) =>
  async (setup: Setup) => {
    const { folder, port, redirectPort, service, certificates } = setup;
    const both = await Promise.all(['server.pem', 'server-key.pem'].map(certificates.read));
    await writeFile(`${folder}/petstore.pem`, Buffer.concat(both));
    const file = `${folder}/haproxy.cfg`;
    await adapt(name, file, {
      [SERVICE]: service,
      ...(redirectPort && {
        'bind :80,:::80 ': `bind 127.0.0.1:${redirectPort},::1:${redirectPort} `,
        '/etc/haproxy/petstore-unavailable.http': `${CONFIGURATIONS}/petstore-unavailable.http`,
      }),
      'bind :443,:::443 ': `bind 127.0.0.1:${port},::1:${port} `,
      ...(hasTls && { '/etc/ssl/petstore': folder }),
    });
    return { args: ['-db', '-f', file] };
  };
export const haproxy = kind('haproxy', haproxyOf('haproxy.cfg'));

/** HAProxy as a TCP load balancer, with the PROXY protocol. */
export const haproxyTcp = kind('haproxy', haproxyOf('haproxy-tcp.cfg', false), { redirects: false });

const caddyOf = (name: string, host: string) => async (setup: Setup) => {
  const { folder, port, redirectPort, service, certificates } = setup;
  const file = `${folder}/Caddyfile`;
  const tls = `tls ${certificates.path('server.pem')} ${certificates.path('server-key.pem')}`;
  // No files of the machine, and no UDP for HTTP/3.
  const redirects = redirectPort ? [`http_port ${redirectPort}`, 'auto_https disable_certs'] : ['auto_https off'];
  const options = ['admin off', ...redirects, 'skip_install_trust', `https_port ${port}`];
  // On all addresses, as shipped: with two of them in a `bind` Caddy redirects on the last one only.
  await adapt(name, file, {
    [SERVICE]: service,
    [`${host} {`]: `localhost {\n\t${tls}`,
    '\tservers {': `${options.join('\n')}\nservers {\nprotocols h1 h2`,
  });
  const env = { HOME: folder, XDG_DATA_HOME: folder, XDG_CONFIG_HOME: folder };
  return { args: ['run', '--config', file, '--adapter', 'caddyfile'], env };
};
export const caddy = kind('caddy', caddyOf('Caddyfile', 'petstore.example'), { earlyResponses: ['HTTP/2', 'gRPC'] });
// over HTTP/1.1 it waits for the first 256 KiB

/** REST under the path /shop/ of a name that has more. */
export const underPath = [
  kind('nginx', nginxOf('nginx-path.conf'), { redirects: false }),
  kind('haproxy', haproxyOf('haproxy-path.cfg'), { redirects: false }),
  kind('caddy', caddyOf('Caddyfile-path', 'www.example'), { redirects: false }),
];

/** HAProxy before two servers of PostgreSQL. */
export const haproxyPostgres = {
  missing: haproxyTcp.missing,
  /** Starts it until the teardown. Resolves with its URL when it leads to the primary alone. */
  async start(t: Scope, ...[first, second]: readonly [string, string]): Promise<string> {
    const [port = 0] = await freePorts(1);
    const file = `${temporaryFolder(t)}/haproxy.cfg`;
    await adapt('haproxy-postgres.cfg', file, {
      'bind 127.0.0.1:5432': `bind 127.0.0.1:${port}`,
      '10.0.0.21:5432': new URL(first).host,
      '10.0.0.22:5432': new URL(second).host,
    });
    const proxy = new Program(haproxyTcp.program, ['-db', '-f', file]);
    t.teardown(() => proxy.end('SIGTERM'));
    const url = onPort(first, port);
    const isStandby = () => query(url, 'SELECT pg_is_in_recovery() AS standby').catch(() => []);
    await until(async () => {
      const all = await Promise.all(Array.from({ length: 10 }, isStandby));
      return all.every(([row]) => row?.standby === false);
    }, 'HAProxy');
    return url;
  },
};

/** Copies a configuration and replaces texts in it. Throws if one of them is missing. */
async function adapt(name: string, to: string, replaced: Readonly<Record<string, string>>): Promise<void> {
  let text = await readFile(`${CONFIGURATIONS}/${name}`, 'utf8');
  for (const [from, by] of Object.entries(replaced)) {
    if (!text.includes(from)) throw new Error(`${name} has no "${from}"`);
    text = text.replaceAll(from, by);
  }
  await writeFile(to, text);
}

function kind(
  name: string,
  prepare: (setup: Setup) => Promise<Command>,
  { earlyResponses = PROTOCOLS as readonly Protocol[], redirects = true } = {},
) {
  const program = findProgram([name], ['/usr/sbin']);
  return {
    name,
    program: program ?? name,
    /** The protocols over which it forwards a response before the request is complete. */
    earlyResponses,
    missing: missing(name, undefined, ['/usr/sbin']),
    /** Starts a proxy in front of the service at `servicePort`, until the teardown. */
    async start(t: Scope, servicePort: number, certificates: Certificates) {
      const folder = temporaryFolder(t);
      const [port = 0, redirectPort = 0] = await freePorts(redirects ? 2 : 1);
      const service = `127.0.0.1:${servicePort}`;
      const { args, env } = await prepare({ folder, port, redirectPort, service, certificates });
      const child = new Program(program ?? name, args, { env: { ...process.env, ...env } });
      t.teardown(() => child.end('SIGTERM'));
      await until(async () => {
        if (child.hasEnded) throw new Error(`${name} has ended: ${child.errors}`);
        return !(await isFree(port)) && !(redirects && (await isFree(redirectPort)));
      }, name);
      const door: Door = { port, ca: await certificates.read('ca.pem') };
      return { door, redirectPort }; // 0: none
    },
  };
}
