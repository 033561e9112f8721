/** No log contains a key, wherever a caller puts it. */
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import test from 'ava';
import { generateKey } from '../../src/access/keys/format.ts';
import { logDir } from '../../src/launcher/paths.ts';
import { loadOperations } from '../../src/proto/operations.ts';
import { startTestStack } from '../support/stack.ts';
import { http1, http2 } from '../support/wire.ts';

const percentEncoded = (text: string) => Buffer.from(text).toString('hex').replace(/../g, '%$&');

const PLAIN_PATHS = [
  '/pets',
  '/pets/1',
  '/store/inventory/-9223372036854775808',
  '/categories/1',
  '/openapi.json',
  '/docs/swagger-ui-bundle.js',
  '/docs/page.js',
  '/wp-login.php',
  '/grpc.reflection.v1.ServerReflection/ServerReflectionInfo',
];

/** Requests with a key in the request line, in a header, or in the body. */
function requestsWith(key: string): string[] {
  const paths = [
    `/pets/${key}`,
    `/${key}`,
    `/${key}/pets`,
    `/pets/${key}/x?limit=1`,
    `/pets?limit=${key}`,
    `/pets/x${key}y`,
    `/pets/1.${key}.x`,
    `/pets/1;${key}`,
    `/pets\\${key}`,
    `/pets/%3F${key}`,
    `/pets/${percentEncoded(key)}`,
    `/pets/${percentEncoded(`${key}/`)}`,
    `/pets#${key}`,
    `/%00/${key}`,
    `http://x/${key}`,
    `/${'x'.repeat(300)}${key}`,
    `/${'x/'.repeat(120)}${key}`,
    `/petstore.v1.PetService/${key}`,
    `/healthz/${key}`,
    key,
  ];
  const lines = [...paths.map((path) => `GET ${path} HTTP/1.1`), `${key} /pets HTTP/1.1`, `GET /pets ${key}`];
  const headers = [
    `X-Request-Id: ${key}`, // and no Host, which is refused early
    `Host: x\r\nX-Request-Id: ${key}\r\nX-Envoy-Original-Path: /${key}\r\nX-Envoy-Original-Method: ${key}`,
    `Host: ${key}`,
    `Host: x\r\nContent-Type: application/grpc\r\nTE: ${key}`,
    `Host: x\r\n${key}: ${key}\xff`,
    `Host: x\r\nTransfer-Encoding: ${key}`,
    `Host: x\r\nContent-Length: ${key}`,
  ];
  const all = lines.map((line) => `${line}\r\nHost: x\r\n\r\n`);
  all.push(...headers.map((header) => `${lines[0]}\r\n${header}\r\n\r\n`));
  const body = `{"name":"${key}","${key}":}`;
  const post = 'POST /pets HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n';
  return [
    ...all,
    `${post}Content-Length: ${body.length}\r\n\r\n${body}`,
    `${post}Transfer-Encoding: chunked\r\n\r\n${key}`,
  ];
}

test('Logs - contain no key, wherever it is in a request', async (t) => {
  const { publicAddress, key, rest, stack, config, close } = await startTestStack({ LOG_LEVEL: 'trace' });
  t.teardown(close);
  for (const path of PLAIN_PATHS) await rest.get(path);
  await rest.get(`/store/orders?pageToken=${'x'.repeat(100)}`);
  const made = [key, generateKey(), generateKey('pso')];
  let responses = 0;
  for (const secret of made) {
    for (const request of requestsWith(secret)) {
      for (const authorization of ['', `\r\nAuthorization: Bearer ${secret}`]) {
        const sent = request.replace(' HTTP/1.1', ` HTTP/1.1${authorization}`);
        responses += await http1(publicAddress, Buffer.from(sent, 'latin1')).then(
          () => 1,
          () => 0, // closed without a response, or with one that is not REST
        );
      }
    }
    const headers = { 'x-request-id': secret, authorization: `Bearer ${secret}` };
    for (const path of [`/pets/${secret}`, `/%00/${secret}`]) {
      await http2(publicAddress, { method: 'GET', path, headers });
    }
  }
  t.true(responses > 100, `${responses} responses`);
  const { headers } = await rest.get('/pets/1');
  await stack.stop(); // writes the last lines
  const files = readdirSync(logDir(config)).map((name) => join(logDir(config), name));
  const logs = files.map((file) => readFileSync(file, 'latin1')).join('');
  t.true(logs.includes(`${headers.get('x-request-id')}`));
  for (const path of [...PLAIN_PATHS, '/store/orders', '(hidden)']) t.true(logs.includes(`"path":"${path}"`), path);
  for (const secret of made) {
    for (const text of [secret, secret.slice(12), percentEncoded(secret)]) t.false(logs.includes(text), text);
  }
});

test('Logs - no path of a public method is so long that it would be redacted', (t) => {
  const paths = [...loadOperations().byPath.keys()].filter((path) => path.startsWith('/petstore.v1.'));
  t.true(paths.length > 15);
  for (const path of paths) for (const name of path.split(/[/.]/)) t.true(name.length <= 21, name);
});
