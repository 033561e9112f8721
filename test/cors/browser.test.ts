/** Cross-origin calls of a real browser, and the docs page, over TLS. answers.test.ts has the headers. */
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Browser, Page } from 'playwright-core';
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
  readonly text: string;
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
  readonly body?: string;
}

/** Fetches from a page. Resolves with what its script can read, or with the name of the error. */
function fetchFrom(page: Page, url: string, sent: Sent = {}): Promise<PageResponse | string> {
  return page.evaluate(
    async ([address, init]) => {
      try {
        const response = await fetch(address, init);
        const { status, headers } = response;
        return { status, headers: Object.fromEntries(headers), text: await response.text() };
      } catch (error) {
        return (error as Error).name;
      }
    },
    [url, sent] as const,
  );
}

/** The same, of a page that may read the response. */
async function readFrom(page: Page, url: string, sent?: Sent): Promise<PageResponse> {
  const response = await fetchFrom(page, url, sent);
  if (typeof response === 'string') throw new Error(`the fetch failed: ${response}`);
  return response;
}

test('REST - a page of an allowed origin creates, changes and reads, and sees headers and errors', async (t) => {
  const { shop, url, key } = t.context;
  const headers = { authorization: `Bearer ${key}`, 'content-type': 'application/json' };
  const create = { method: 'POST', headers: { ...headers, 'idempotency-key': 'a-1' }, body: '{"name":"Cats"}' };
  const created = await readFrom(shop, `${url}/categories`, create);
  t.is(created.status, 201);
  for (const name of ['x-ratelimit-remaining', 'x-request-id']) t.true(name in created.headers, name);
  const { location = '', etag = '' } = created.headers;
  t.regex(location, /^\/categories\/\d+$/);
  t.is((await readFrom(shop, `${url}/categories`, create)).headers['idempotency-replayed'], 'true');
  const change = { method: 'PUT', headers: { ...headers, 'if-match': etag }, body: '{"name":"Dogs"}' };
  t.is((await readFrom(shop, url + location, change)).status, 200);
  t.is((await readFrom(shop, url + location, change)).status, 412);
  t.is((await readFrom(shop, url + location, { method: 'DELETE', headers })).status, 204);

  const missing = await readFrom(shop, `${url}/pets`);
  t.is(JSON.parse(missing.text).code, 'API_KEY_MISSING');
  t.is(missing.headers['www-authenticate'], 'Bearer');
  t.is(JSON.parse((await readFrom(shop, `${url}/nope`, { headers })).text).code, 'ROUTE_NOT_FOUND');
});

test('Other origins - a page can neither send an API key nor read responses', async (t) => {
  const { other, url, key } = t.context;
  const headers = { authorization: `Bearer ${key}` };
  for (const path of ['/pets', '/healthz', '/nope']) {
    t.is(await fetchFrom(other, url + path, { headers }), 'TypeError', path);
    t.is(await fetchFrom(other, url + path), 'TypeError', path);
  }
  t.is((await readFrom(other, `${url}/openapi.json`)).status, 200, 'the description is public');
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
