/**
 * Which tests notice a fault: those that have its file's name, those nearest to its part, then the next. The first
 * prefix of its path decides.
 */
import { globSync } from 'node:fs';
import { basename, extname } from 'node:path';

const REST = 'rest/*';
const PARTS: readonly (readonly [prefix: string, ...tests: readonly string[]])[] = [
  [
    'envoy/',
    'envoy/lua*',
    'envoy/*',
    REST,
    '{cors,tls,observe/tracing}/*',
    'hostile/{http,grpc}-errors*',
    'launcher/open*',
    'proxies/*',
  ],
  ['src/platform/access/limits/', 'access/{limits,admin}/*', 'rest/{limits,flood}*'],
  ['src/platform/access/', 'access/**/*', 'cli/*', 'rest/limits*', 'process/*'],
  ['src/platform/cli/', 'cli/*', 'docs/sessions*'],
  ['src/platform/client/', 'client/{admission,calls,events,tls}*'],
  ['src/platform/config/', 'config*', 'service*', 'launcher/refusals*', 'rest/limits*'],
  ['src/platform/edge/', 'envoy/*', REST],
  ['src/platform/events/', 'events/*', 'rest/events*', 'storage/{sqlite,postgres}.*'],
  ['src/platform/files/', 'docs/{served,copies}*', 'launcher/refusals*', 'deploy/backup*', 'rest/requests*'],
  ['src/platform/interceptors/', 'interceptors/*', 'rpc/*', REST],
  ['src/platform/launcher/', 'launcher/*', 'hosts/{standalone,hosts}*'],
  ['src/platform/observe/', 'observe/**/*', 'process/*'],
  ['src/platform/process/', 'process/*', 'launcher/{open,stop,refusals}*'],
  ['src/platform/proto/', 'rpc/*', 'openapi/*', REST],
  ['src/platform/protocols/', 'rpc/*', REST, 'hostile/*-errors*'],
  ['src/platform/rpc/health', 'rpc/health*', 'hosts/standalone*', 'launcher/instances*'],
  ['src/platform/rpc/', 'rpc/*', 'interceptors/*', REST],
  ['src/platform/storage/', 'storage/*', 'walk/{sqlite,postgres-session}*', 'concurrency/*', 'process/*'],
  ['src/platform/tables/', 'storage/*', 'concurrency/*', 'rest/{paging,resources}*'],
  ['src/platform/web/', 'docs/served*', 'rest/requests*'],
  ['src/shop/', 'shop/*', REST, 'concurrency/*', 'storage/sqlite*'],
  ['src/main.ts', 'process/*', 'launcher/{logs,recovery,instances,full-disk}*', 'hosts/standalone*'],
  ['src/', '*', 'process/*', 'rest/{requests,failures}*'],
];

/** The tests for a file of sources, the nearest first, each once, but for those that measure or run alone. */
export function testsOf(file: string): readonly (readonly string[])[] {
  const [, ...globs] = PARTS.find(([prefix]) => file.startsWith(prefix)) ?? ['', '*'];
  const seen = new Set<string>();
  const isNew = (name: string) => !seen.has(name) && seen.add(name);
  return [`**/${basename(file, extname(file))}.*`, ...globs]
    .map((glob) => globSync(`test/${glob}`).filter((name) => /(?<!\.alone)\.test\.ts$/.test(name) && isNew(name)))
    .filter((found) => found.length > 0);
}
