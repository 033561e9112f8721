/** Cross-origin calls of a real browser, and the docs page, over TLS. */
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Browser, Page } from 'playwright-core';
import { ListPetsRequest, ListPetsResponse, PetServiceService as Pets } from '../../gen/petstore/v1/pets.ts';
import { browserTest, startBrowser, watchedPage } from '../support/browser.ts';
import { startTestStack, type TestStack } from '../support/stack.ts';
import { type Certificates, makeCertificates } from '../support/tls.ts';

interface Context extends TestStack {
  readonly certificates: Certificates;
  readonly browser: Browser;
  readonly sites: readonly Server[];
  readonly url: string;
  /** A page of the allowed origin. */
  readonly shop: Page;
  /** A page of another origin. */
  readonly other: Page;
}

interface PageResponse {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly bytes: readonly number[];
}

const test = browserTest<Context>();

test.before(async (t) => {
  const [certificates, browser, ours, others] = await Promise.all([
    makeCertificates(),
    startBrowser(),
    startSite(),
    startSite(),
  ]);
  const tls = { TLS_CERT: certificates.path('server.pem'), TLS_KEY: certificates.path('server-key.pem') };
  const stack = await startTestStack({ ...tls, CORS_ORIGINS: originOf(ours) });
  const [shop, other] = await Promise.all([open(browser, originOf(ours)), open(browser, originOf(others))]);
  const url = `https://127.0.0.1:${stack.config.port}`;
  t.context = { ...stack, certificates, browser, sites: [ours, others], url, shop, other };
});
test.after.always(async ({ context }) => {
  await context.browser.close();
  for (const site of context.sites) site.close();
  await context.close();
  await context.certificates.remove();
});

/** Starts a site with an empty page. */
async function startSite(): Promise<Server> {
  const site = createServer((_request, response) => response.end('<!doctype html><title>A shop</title>'));
  await new Promise<void>((resolve) => site.listen(0, '127.0.0.1', resolve));
  return site;
}

function originOf(site: Server): string {
  return `http://127.0.0.1:${(site.address() as AddressInfo).port}`;
}

async function open(browser: Browser, url: string): Promise<Page> {
  const { page } = await watchedPage(browser, { ignoreHTTPSErrors: true });
  await page.goto(url);
  return page;
}

interface Sent {
  readonly method?: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string | readonly number[];
}

/** Fetches from a page. Resolves with what its script can read, or with the name of the error. */
function fetchFrom(page: Page, url: string, { body, ...sent }: Sent = {}): Promise<PageResponse | string> {
  return page.evaluate(
    async ([address, request, content]) => {
      try {
        const init = { ...request, ...(content && { body: new Uint8Array(content) }) };
        const response = await fetch(address, init);
        const bytes = [...new Uint8Array(await response.arrayBuffer())];
        return { status: response.status, headers: Object.fromEntries(response.headers), bytes };
      } catch (error) {
        return (error as Error).name;
      }
    },
    [url, sent, typeof body === 'string' ? [...Buffer.from(body)] : body && [...body]] as const,
  );
}

function read(response: PageResponse | string): PageResponse & { readonly text: string } {
  if (typeof response === 'string') throw new Error(`the fetch failed: ${response}`);
  return { ...response, text: Buffer.from(response.bytes).toString() };
}

test('REST - a page of an allowed origin creates, changes and reads, and sees headers and errors', async (t) => {
  const { shop, url, key } = t.context;
  const headers = { authorization: `Bearer ${key}`, 'content-type': 'application/json' };
  const create = { method: 'POST', headers: { ...headers, 'idempotency-key': 'a-1' }, body: '{"name":"Cats"}' };
  const created = read(await fetchFrom(shop, `${url}/categories`, create));
  t.is(created.status, 201);
  const { location = '', etag = '' } = created.headers;
  t.regex(location, /^\/categories\/\d+$/);
  t.is(read(await fetchFrom(shop, `${url}/categories`, create)).headers['idempotency-replayed'], 'true');
  const change = { method: 'PUT', headers: { ...headers, 'if-match': etag }, body: '{"name":"Dogs"}' };
  t.is(read(await fetchFrom(shop, url + location, change)).status, 200);
  t.is(read(await fetchFrom(shop, url + location, change)).status, 412);
  await fetchFrom(shop, `${url}/categories`, { method: 'POST', headers, body: '{"name":"Birds"}' });
  const page = read(await fetchFrom(shop, `${url}/categories?limit=1`, { headers }));
  t.is(JSON.parse(page.text)[0].name, 'Dogs');
  for (const name of ['x-ratelimit-remaining', 'x-request-id', 'link']) t.true(name in page.headers, name);
  t.is(read(await fetchFrom(shop, url + location, { method: 'DELETE', headers })).status, 204);

  const missing = read(await fetchFrom(shop, `${url}/pets`));
  t.is(JSON.parse(missing.text).code, 'API_KEY_MISSING');
  t.is(missing.headers['www-authenticate'], 'Bearer');
  t.is(JSON.parse(read(await fetchFrom(shop, `${url}/nope`, { headers })).text).code, 'ROUTE_NOT_FOUND');
});

test('gRPC-Web and Connect - a page of an allowed origin calls methods and reads responses and errors', async (t) => {
  const { shop, url, key } = t.context;
  const message = ListPetsRequest.encode({ ids: [], pageToken: '' }).finish();
  const address = url + Pets.listPets.path;
  const authorization = `Bearer ${key}`;
  const web = { 'content-type': 'application/grpc-web+proto', 'x-grpc-web': '1', 'grpc-timeout': '5S' };
  const framed = { method: 'POST', body: [0, 0, 0, 0, message.length, ...message] };
  const byWeb = read(await fetchFrom(shop, address, { ...framed, headers: { ...web, authorization } }));
  t.is(byWeb.status, 200);
  t.true(byWeb.text.includes('grpc-status:0'));
  t.regex(byWeb.headers['x-ratelimit-remaining'] ?? '', /^\d+$/);
  t.is(read(await fetchFrom(shop, address, { ...framed, headers: web })).headers['grpc-status'], '16');

  const plain = { method: 'POST', body: [...message] };
  const connect = {
    'content-type': 'application/proto',
    'connect-protocol-version': '1',
    'connect-timeout-ms': '5000',
  };
  const byConnect = read(await fetchFrom(shop, address, { ...plain, headers: { ...connect, authorization } }));
  t.is(byConnect.status, 200);
  t.deepEqual(ListPetsResponse.decode(Buffer.from(byConnect.bytes)).pets, []);
  const refused = read(await fetchFrom(shop, address, { ...plain, headers: connect }));
  t.is(JSON.parse(refused.text).code, 'unauthenticated');
});

test('Other origins - a page can neither send an API key nor read responses', async (t) => {
  const { other, url, key } = t.context;
  const headers = { authorization: `Bearer ${key}` };
  for (const path of ['/pets', '/healthz', '/nope']) {
    t.is(await fetchFrom(other, url + path, { headers }), 'TypeError', path);
    t.is(await fetchFrom(other, url + path), 'TypeError', path);
  }
  t.is(read(await fetchFrom(other, `${url}/openapi.json`)).status, 200, 'the description is public');
});

test('Docs page - works over TLS', async (t) => {
  const { browser, url } = t.context;
  const { page, requests, errors } = await watchedPage(browser, { ignoreHTTPSErrors: true });
  await page.goto(`${url}/`);
  await page.locator('#operations-Pets-listPets').waitFor();
  t.is(page.url(), `${url}/docs`);
  t.deepEqual([...new Set(requests.map((request) => new URL(request).origin))], [url]);
  t.deepEqual(errors, []);
});
