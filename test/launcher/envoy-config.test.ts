import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import test from 'ava';
import { parse } from 'yaml';
import { readConfig } from '../../src/config/config.ts';
import { writeEnvoyConfig } from '../../src/launcher/envoy-config.ts';

const TLS = { TLS_CERT: '/tls.pem', TLS_KEY: '/tls-key.pem', HTTP_PORT: '8081' };
const INTERNAL_TLS = { INTERNAL_TLS_CA: '/ca.pem', INTERNAL_TLS_CERT: '/own.pem', INTERNAL_TLS_KEY: '/own-key.pem' };
const SERVERS = { SERVERS: 'a.example:50051,b.example:50051', ...INTERNAL_TLS };
const TRACES = { OTEL_EXPORTER_OTLP_ENDPOINT: 'http://127.0.0.1:4318' };
const PROXIES = { TRUSTED_PROXIES: '10.0.0.0/8', CORS_ORIGINS: 'https://shop.example' };

const SETTINGS: Readonly<Record<string, Record<string, string>>> = {
  'the defaults': {},
  TLS,
  'trusted proxies and CORS': PROXIES,
  'the PROXY protocol and TLS': { ...TLS, ...PROXIES, PROXY_PROTOCOL: 'yes' },
  'all traces': TRACES,
  'some traces': { ...TRACES, OTEL_TRACES_SAMPLER_ARG: '0.5' },
  'a standalone edge': { ...SERVERS, LOGS: 'stdout' },
  'a standalone edge with traces': { ...SERVERS, ...TRACES },
};

async function written(settings: Record<string, string>): Promise<string> {
  const folder = mkdtempSync(join(tmpdir(), 'petstore-envoy-config-'));
  try {
    return readFileSync(await writeEnvoyConfig(readConfig({ ...settings, DATA_DIR: folder })), 'utf8');
  } finally {
    rmSync(folder, { recursive: true });
  }
}

for (const [name, settings] of Object.entries(SETTINGS)) {
  test(`Envoy's configuration - with ${name} has no gap, and is the same in YAML 1.1, which Envoy reads`, async (t) => {
    const text = await written({ ...settings, HOST: '0.0.0.0', EDGE_SECRET: '0x1_000_000_000_000_000_000_000_000' });
    const message = parse(text, { version: '1.1' });
    t.deepEqual(message, parse(text));
    t.notRegex(JSON.stringify(message), /null|undefined/);
    t.true(text.includes('"0x1_000_000_000_000_000_000_000_000"'));
  });
}
