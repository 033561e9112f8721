/** REST under a path of a name that has more, by the configurations of deploy/proxies: addresses lead back there. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { ROOT } from '../../src/platform/launcher/paths.ts';
import { callFrom } from '../support/calls/callers.ts';
import { readAll } from '../support/calls/rest-client.ts';
import { findProgram, sh } from '../support/machine/find-program.ts';
import { makeCertificates, noOpenssl } from '../support/machine/tls.ts';
import { temporaryFolder } from '../support/scope.ts';
import { Program } from '../support/service/process.ts';
import { type SharedBy, sharing, testUnless } from '../support/service/sharing.ts';
import { startTestStack } from '../support/service/stack.ts';
import { until } from '../support/until.ts';
import { underPath } from './proxies.ts';

/** More than a page of the program that keeps a copy. */
const CATEGORIES = 101;

const anyTest = sharing(noOpenssl, async (t) => {
  const certificates = await makeCertificates(t);
  const stack = await startTestStack(t, { TRUSTED_PROXIES: '127.0.0.1' });
  for (let i = 0; i < CATEGORIES; i += 1) await stack.rest.category();
  return { ...stack, certificates };
});

type Context = SharedBy<typeof anyTest>;

function program(page: string, language: string): string {
  const text = readFileSync(join(ROOT, `docs/callers/${page}.md`), 'utf8');
  return new RegExp(`^\`\`\`${language}\\n(.+?)^\`\`\``, 'ms').exec(text)?.[1] ?? '';
}

for (const { name, missing, start } of underPath) {
  testUnless<Context>(missing ?? noOpenssl)(
    `${name} - under a path the programs of the pages work, and links and locations lead back`,
    async (t) => {
      const { rest, key, config, certificates } = t.context;
      const { door } = await start(t, config.port, certificates);
      const ca = certificates.path('ca.pem');
      const trust = { NODE_EXTRA_CA_CERTS: ca, SSL_CERT_FILE: ca, CURL_CA_BUNDLE: ca };
      const cwd = temporaryFolder(t);
      const env = { ...process.env, ...trust, API: `https://localhost:${door.port}/shop`, API_KEY: key };
      const printed = async (command: string, ...args: string[]) => (await sh(command, args, { cwd, env })).stdout;
      const first = await printed(process.execPath, '--input-type=module', '-e', program('getting-started', 'js'));
      t.regex(first, /^order \d+: 2 of Tom\n$/);
      if (findProgram(['python3']) !== undefined) {
        t.regex(await printed('python3', '-c', program('getting-started', 'py')), /^order \d+: 2 of Tom\n$/);
      }
      const pages = (await printed('bash', join(ROOT, 'examples/curl/session.sh'))).match(/^\[\{.+\]$/gm);
      const categories = await readAll<{ id: number }>(rest, '/categories');
      t.is(pages?.length, categories.length);

      const args = ['--input-type=module', '-e', program('following-changes', 'js')];
      const copying = new Program(process.execPath, args, { cwd, env });
      t.teardown(() => copying.end('SIGKILL'));
      const copied = () => Object.keys(JSON.parse(readFileSync(join(cwd, 'copy.json'), 'utf8')).category).length;
      const hasCopied = async () => (await Promise.try(copied).catch(() => 0)) >= categories.length;
      await until(hasCopied, 'a copy of the categories');

      const headers = { authorization: `Bearer ${key}` };
      const get = (path: string) => callFrom('127.0.0.1', door, 'HTTP/1.1', { path, headers });
      const [, successor = ''] =
        /^<(.+)>; rel="successor-version"$/.exec((await get('/shop/pets/1')).headers.get('link') ?? '') ?? [];
      t.is(successor, '/shop/pets?ids=1');
      t.is((await get(successor)).status, 200);
      const connect = { method: 'POST', headers: { ...headers, 'content-type': 'application/proto' }, body: '' };
      const path = '/shop/petstore.v1.CategoryService/ListCategories';
      t.is((await callFrom('127.0.0.1', door, 'HTTP/1.1', { path, ...connect })).status, 200, 'Connect');
    },
  );
}
