/** Settings of ports, TLS, callers in browsers and behind proxies, and of servers and edge on different hosts. */
import { toAddress, toOrigins, toPath, toPort, toSecret, toServers, toYesOrNo, wholeNumber } from './checks.ts';
import { toNetworks } from './networks.ts';
import { optional, setting } from './setting.ts';

/** Far more than one machine can use. */
const MAX_INSTANCES = 64;

export const PORTS = {
  PORT: setting({
    about: 'The public port: REST, gRPC, gRPC-Web and Connect.',
    fallback: '8080',
    parse: toPort,
  }),
  HOST: setting({
    about: 'The address that the public port listens on; `0.0.0.0` is every IPv4 address of the machine.',
    fallback: '127.0.0.1',
    parse: toAddress,
  }),
  TRUSTED_PROXIES: optional({
    about:
      'The proxies and load balancers in front of the public port: addresses or networks, separated by commas. Their ' +
      '`X-Forwarded-For` tells the address of the caller. [edge.md](edge.md) has more.',
    fallbackInWords: 'none: `X-Forwarded-For` is ignored',
    parse: toNetworks,
  }),
  PROXY_PROTOCOL: setting({
    about:
      'Whether each connection to the public port and to `HTTP_PORT` begins with a PROXY protocol header, ' +
      'version 1 or 2. Needs `TRUSTED_PROXIES`; no other address can connect then. `1` means `yes`.',
    fallback: 'no',
    parse: (text) => text === '1' || toYesOrNo(text),
  }),
  GRPC_PORT: setting({
    about: "The gRPC server's private port.",
    fallback: '50051',
    parse: toPort,
  }),
  INSTANCES: setting({
    about:
      'The number of servers behind Envoy. They listen on `GRPC_PORT` and the ports after it. ' +
      'More than one needs `DATABASE_URL` and `REDIS_URL`.',
    fallback: '1',
    parse: wholeNumber('number', MAX_INSTANCES),
  }),
  ENVOY_ADMIN_PORT: setting({
    about: "Envoy's statistics, read-only, on loopback: `/stats` and `/stats/prometheus`.",
    fallback: '9901',
    parse: toPort,
  }),
  ENVOY: optional({
    about: 'The path of another Envoy binary.',
    fallbackInWords: 'the pinned one',
    parse: (text) => text,
  }),
};

export const EDGE = {
  TLS_CERT: optional({
    about:
      'The certificate chain of the public port, a PEM file: the certificate first, then the intermediates. ' +
      'With it and `TLS_KEY` the port accepts only TLS 1.2 and 1.3. ' +
      'A renewed file is used without a restart. [TLS](edge.md#tls).',
    fallbackInWords: 'no TLS',
    parse: toPath,
  }),
  TLS_KEY: optional({
    about: 'The private key of `TLS_CERT`, a PEM file without a passphrase.',
    fallbackInWords: 'no TLS',
    parse: toPath,
  }),
  HTTP_PORT: optional({
    about:
      'A port for plain HTTP that only redirects to HTTPS on `PORT` (308). ' +
      'With it, responses also tell browsers to use HTTPS from then on (HSTS).',
    fallbackInWords: 'none',
    parse: toPort,
  }),
  CORS_ORIGINS: optional({
    about:
      'The origins whose pages may call the service in a browser, separated by commas: `https://shop.example`. `*` ' +
      'allows every origin. [Browsers](edge.md#pages-of-other-origins).',
    fallbackInWords: 'only its own',
    parse: toOrigins,
  }),
};

/** Settings of a standalone server or edge. */
export const HOSTS = {
  GRPC_HOST: setting({
    about:
      'The address that a standalone server (`npm run server`) listens on. Any but loopback needs `INTERNAL_TLS_CA`, ' +
      '`INTERNAL_TLS_CERT` and `INTERNAL_TLS_KEY`. See [hosts](hosts.md).',
    fallback: '127.0.0.1',
    parse: toAddress,
  }),
  SERVERS: optional({
    about:
      'The servers of a standalone edge (`npm run edge`): `host:port`, separated by commas. Each address that a name ' +
      'resolves to is a server. Any but loopback needs `INTERNAL_TLS_CA`, `INTERNAL_TLS_CERT` and `INTERNAL_TLS_KEY`.',
    fallbackInWords: '`127.0.0.1` and `GRPC_PORT`',
    parse: toServers,
  }),
  EDGE_SECRET: optional({
    about:
      'By this secret a server recognizes its edges, whose `X-Forwarded-For` it believes: at least 16 characters. ' +
      '`npm run server` and `npm run edge` need the same one, unless they have `INTERNAL_TLS_CA`.',
    fallbackInWords: 'generated at each `npm start`',
    isSecret: true,
    parse: toSecret,
  }),
  INTERNAL_TLS_CA: optional({
    about: 'The certificate authority of standalone edges and servers, a PEM file. Use it for nothing else.',
    fallbackInWords: 'none: no TLS, and only loopback',
    parse: toPath,
  }),
  INTERNAL_TLS_CERT: optional({
    about: "The edge's or server's own certificate, a PEM file. A server's is for its name or address in `SERVERS`.",
    fallbackInWords: 'none',
    parse: toPath,
  }),
  INTERNAL_TLS_KEY: optional({
    about: 'The private key of `INTERNAL_TLS_CERT`, a PEM file.',
    fallbackInWords: 'none',
    parse: toPath,
  }),
};
