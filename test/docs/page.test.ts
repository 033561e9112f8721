import { readFileSync } from 'node:fs';
import type { Browser, BrowserContextOptions, Locator, Page } from 'playwright-core';
import { browserTest, startBrowser, type WatchedPage, watchedPage } from '../support/browser.ts';
import { startTestStack, type TestStack } from '../support/stack.ts';
import { until } from '../support/until.ts';
import { textsWithLowContrast } from './contrast.js';

interface Context {
  readonly service: TestStack;
  readonly browser: Browser;
  /** Every page that was opened. */
  readonly pages: WatchedPage[];
  /** As it is when it has been opened, for tests that only look. */
  readonly page: Page;
  /** On a phone, with everything open that can be, and an answer shown: it takes seconds to get there. */
  readonly allOpen: Page;
}

interface Operation {
  readonly operationId: string;
  readonly tags: readonly [string];
  readonly deprecated?: boolean;
  readonly 'x-stability'?: string;
  readonly 'x-sunset'?: string;
  readonly 'x-try-it'?: boolean;
}

interface Description {
  readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>;
  readonly tags: readonly { readonly name: string; readonly description: string }[];
}

const description: Description = JSON.parse(readFileSync('gen/openapi/openapi.json', 'utf8'));
const operations = Object.entries(description.paths).flatMap(([path, methods]) =>
  Object.entries(methods).map(([method, operation]) => ({ path, method, operation })),
);
const chapters = description.tags.filter(({ name }) => !operations.some(({ operation }) => operation.tags[0] === name));

const PHONE: BrowserContextOptions = { viewport: { width: 360, height: 740 }, isMobile: true, hasTouch: true };

// Serial: pages that load side by side only make each other slow.
const test = browserTest<Context>();

test.before(async (t) => {
  const started = { service: await startTestStack(), browser: await startBrowser(), pages: [] };
  const page = await open(started);
  t.context = { ...started, page, allOpen: await openEverything(started) };
});
test.after.always(async (t) => {
  await t.context.browser?.close();
  await t.context.service?.close();
});

// Whatever a test does with a page, these hold.
test.afterEach.always(async (t) => {
  const { service, pages, page: shared, allOpen } = t.context;
  for (const { page, requests, errors } of pages.splice(0)) {
    t.deepEqual([...new Set(requests.map((url) => new URL(url).origin))], [service.rest.url]);
    t.deepEqual(errors, []);
    if (page === shared || page === allOpen) pages.push({ page, requests, errors });
    else await page.context().close();
  }
});

test.serial('The page - a browser that asks for / gets there', async (t) => {
  const { page } = await watch(t.context);
  await page.goto(`${t.context.service.rest.url}/`);
  t.is(page.url(), `${t.context.service.rest.url}/docs`);
  t.is(await page.title(), 'Pet Store API');
  t.is(await page.locator('html').getAttribute('lang'), 'en');
});

test.serial('The page - loads its own files and the description, and nothing else', async (t) => {
  const { page, requests } = await watch(t.context);
  await show(page, t.context);
  const paths = requests.map((url) => new URL(url).pathname);
  // The browser asks for the icon when it likes, if at all.
  const others = paths.filter((path) => path !== '/docs/favicon.svg');
  t.deepEqual(others.toSorted(), [
    '/docs',
    '/docs/page.css',
    '/docs/page.js',
    '/docs/swagger-ui-bundle.js',
    '/docs/swagger-ui.css',
    '/openapi.json',
  ]);
});

test.serial('The page - says where the description is when there is no JavaScript', async (t) => {
  const { page } = await watch(t.context, { javaScriptEnabled: false });
  await page.goto(`${t.context.service.rest.url}/docs`);
  t.regex((await page.locator('main').allInnerTexts()).join(), /needs JavaScript.*\/openapi\.yaml/s);
});

test.serial('Operations - every one of the description is there', async (t) => {
  const { page } = t.context;
  const listed = await page
    .locator('.opblock-summary')
    .evaluateAll((rows) =>
      rows.map((row) => [
        row.querySelector('.opblock-summary-method')?.textContent?.toLowerCase(),
        row.querySelector('[data-path]')?.getAttribute('data-path'),
      ]),
    );
  t.deepEqual(
    listed,
    operations.map(({ method, path }) => [method, path]),
  );
  t.true(listed.length >= 20);
});

test.serial('Operations - badges tell beta, experimental and the sunset date, and no others have one', async (t) => {
  const { page } = t.context;
  for (const { operation } of operations) {
    const { 'x-stability': stability, 'x-sunset': sunset } = operation;
    const badges = [stability, sunset && `sunset ${sunset.slice(0, 10)}`].filter(Boolean);
    t.deepEqual(await row(page, operation).locator('.badge').allInnerTexts(), badges, operation.operationId);
  }
  const all = (await page.locator('.badge').allInnerTexts()).join(' ');
  for (const kind of ['beta', 'experimental', 'sunset']) t.true(all.includes(kind));
});

test.serial('Operations - a deprecated one is struck through, with its sunset beside it', async (t) => {
  const { page } = t.context;
  for (const { operation } of operations) {
    const path = row(page, operation).locator('[data-path]');
    const line = await path.evaluate(
      (element) => element.ownerDocument.defaultView?.getComputedStyle(element).textDecorationLine,
    );
    t.is(line, operation.deprecated ? 'line-through' : 'none', operation.operationId);
  }
  t.is(await page.locator('.badge time').getAttribute('datetime'), '2027-12-31T23:59:59Z');
});

test.serial('Chapters - tags without operations show their prose, whole', async (t) => {
  const { page } = t.context;
  t.true(chapters.length >= 3);
  t.is(await page.locator('.chapter').count(), chapters.length);
  for (const { name, description: text } of chapters) {
    const chapter = page.locator('.chapter', { has: page.getByRole('heading', { name, exact: true }) });
    t.true(await chapter.isVisible());
    const markdown = text.replace(/^(\d+\. |```\w+$)/gm, '').replaceAll('{base_url}', t.context.service.rest.url);
    t.deepEqual(words((await chapter.allInnerTexts()).join()), words(`${name} ${markdown}`));
  }
});

test.serial('Contents - lead to every tag', async (t) => {
  const { page } = t.context;
  const links = page.getByRole('navigation', { name: 'Contents' }).getByRole('link');
  const names = description.tags.map(({ name }) => name);
  t.deepEqual(await links.allInnerTexts(), names);
  for (const name of names) {
    await links.getByText(name, { exact: true }).click();
    t.true(await isInView(heading(page, name)), name);
  }
});

test.serial('Contents - their addresses open the page there', async (t) => {
  const { page } = t.context;
  for (const name of ['Store', 'Getting started']) {
    const href = await page.getByRole('link', { name, exact: true }).first().getAttribute('href');
    const other = await open(t.context, {}, `/docs${href}`);
    t.true(await until(() => isInView(heading(other, name)), name));
  }
});

test.serial('Try it out - is there for every operation but those that the description takes out', async (t) => {
  const { allOpen: page } = t.context;
  for (const { operation } of operations) {
    const count = await row(page, operation).locator('.try-out__btn').count();
    t.is(count, operation['x-try-it'] === false ? 0 : 1, operation.operationId);
  }
  t.is(await page.locator('#operations-Store-listOrders .try-out__btn').count(), 0);
});

test.serial('Try it out - forms begin with nothing but the id in the path and defaults', async (t) => {
  const page = await open(t.context);
  for (const [id, values] of [
    ['Pets-listPets', ['', '', '20', '']],
    ['Pets-createPet', ['']],
    ['Pets-replacePet', ['1', '']],
    ['Pets-getPet', ['1', '']],
  ] as const) {
    const block = page.locator(`#operations-${id}`);
    await block.locator('.opblock-summary-control').click();
    await block.getByRole('button', { name: 'Try it out' }).click();
    const fields = block.locator('.parameters').locator('input[type=text], select');
    await fields.first().waitFor();
    const shown = await fields.evaluateAll((all) => all.map((field) => (field as unknown as { value: string }).value));
    t.deepEqual(shown, values, id);
  }
});

test.serial('Try it out - GET /pets returns what the API returns, and shows the rate headers', async (t) => {
  const { rest, key } = t.context.service;
  await rest.pet({ name: 'Ginger "the 1st" <b>' });
  const page = await open(t.context);
  await authorize(page, key);
  const block = page.locator('#operations-Pets-listPets');
  const response = await tryOut(page, block);
  t.is(response.status(), 200);
  const shown = block.locator('.live-responses-table .response').first();
  t.is(await shown.locator('.response-col_status').textContent(), '200');
  const body = await shown.locator('.highlight-code code').textContent();
  t.deepEqual(JSON.parse(body ?? ''), (await rest.get('/pets')).body);
  const headers = await shown.locator('.headerline').allInnerTexts();
  for (const name of ['x-ratelimit-limit', 'x-ratelimit-remaining', 'x-ratelimit-reset']) {
    const value = await response.headerValue(name);
    t.regex(value ?? '', /^\d+$/);
    t.true(headers.map((line) => line.trim()).includes(`${name}: ${value}`), name);
  }
});

test.serial('Try it out - sends a body: POST /categories with the example creates one', async (t) => {
  const page = await open(t.context);
  await authorize(page, t.context.service.key);
  const block = page.locator('#operations-Pets-createCategory');
  const response = await tryOut(page, block);
  t.is(response.status(), 201);
  const location = (await response.headerValue('location')) ?? '';
  t.is((await t.context.service.rest.get(location)).status, 200);
  t.true((await block.locator('.headerline').allInnerTexts()).some((line) => line.trim() === `location: ${location}`));
});

test.serial('The key - is taken as people paste it, with spaces or with "Bearer" before it', async (t) => {
  const page = await open(t.context);
  await authorize(page, ` Bearer ${t.context.service.key}  `);
  const response = await tryOut(page, page.locator('#operations-Pets-listPets'));
  t.is((await response.request().allHeaders()).authorization, `Bearer ${t.context.service.key}`);
});

test.serial('The key - is kept for this tab alone, until it is closed or logged out', async (t) => {
  const page = await open(t.context);
  await authorize(page, t.context.service.key);
  await page.reload();
  await page.locator('.btn.authorize.locked').waitFor();
  t.is(await page.evaluate('localStorage.length'), 0);

  const tab = await page.context().newPage();
  await tab.goto(page.url());
  await tab.locator('.btn.authorize.unlocked').waitFor();

  await page.locator('.btn.authorize').click();
  await page.getByRole('button', { name: 'Remove authorization' }).click();
  await page.reload();
  await page.locator('.btn.authorize.unlocked').waitFor();
  t.pass();
});

test.serial('The keyboard - opens an operation, and closes the dialog', async (t) => {
  const page = await open(t.context);
  const control = page.locator('#operations-Pets-listPets .opblock-summary-control');
  await control.focus();
  await page.keyboard.press('Enter');
  await page.locator('#operations-Pets-listPets .opblock-body').waitFor();
  await page.locator('.btn.authorize').focus();
  await page.keyboard.press('Enter');
  const field = page.locator('.modal-ux input');
  await field.waitFor();
  t.true(await field.evaluate((element) => element.matches(':focus')));
  await page.keyboard.press('Escape');
  await field.waitFor({ state: 'detached' });
});

test.serial('A phone - scrolls in one direction only', async (t) => {
  const page = await open(t.context, PHONE);
  t.is(await widthOf(page), 360);
  await page.locator('.btn.authorize').click();
  await page.locator('.modal-ux').waitFor();
  t.is(await widthOf(page), 360);
});

test.serial('A phone - scrolls in one direction only when everything is open', async (t) => {
  t.is(await widthOf(t.context.allOpen), 360);
});

test.serial('Colours - follow the scheme of the system, also while the page is open', async (t) => {
  const page = await open(t.context, { colorScheme: 'dark' });
  for (const [colorScheme, background] of [
    ['dark', 'rgb(28, 32, 34)'],
    ['light', 'rgb(250, 250, 250)'],
    ['dark', 'rgb(28, 32, 34)'],
  ] as const) {
    await setScheme(page, colorScheme);
    t.is(await page.evaluate('getComputedStyle(document.documentElement).backgroundColor'), background);
  }
});

for (const colorScheme of ['light', 'dark'] as const) {
  test.serial(`Colours - every text can be read, ${colorScheme}`, async (t) => {
    const { allOpen: page } = t.context;
    await setScheme(page, colorScheme);
    t.deepEqual(await page.evaluate(textsWithLowContrast, 4.5), []);
  });
}

type Started = Pick<Context, 'service' | 'browser' | 'pages'>;

async function watch({ browser, pages }: Started, options: BrowserContextOptions = {}): Promise<WatchedPage> {
  const watched = await watchedPage(browser, { viewport: { width: 1280, height: 900 }, ...options });
  pages.push(watched);
  return watched;
}

async function show(page: Page, { service }: Started, path = '/docs'): Promise<void> {
  await page.goto(`${service.rest.url}${path}`);
  await page.locator('#contents a').first().waitFor();
}

/** A new page that shows the description. */
async function open(started: Started, options: BrowserContextOptions = {}, path = '/docs'): Promise<Page> {
  const { page } = await watch(started, options);
  await show(page, started, path);
  return page;
}

/** All at once, and not by the mouse: it would take long. */
async function openEverything(started: Started): Promise<Page> {
  const page = await open(started, PHONE);
  await authorize(page, started.service.key);
  await tryOut(page, page.locator('#operations-Pets-listPets'));
  for (const selector of ['.opblock-summary-control', '.models-control']) {
    await page.locator(`${selector}[aria-expanded=false]`).evaluateAll((buttons) => {
      for (const button of buttons) button.click();
    });
  }
  await page.locator('.opblock:not(:has(.responses-inner))').first().waitFor({ state: 'detached' });
  await page.locator('details:not([open]) > summary').evaluateAll((summaries) => {
    for (const summary of summaries) summary.click();
  });
  return page;
}

function row(page: Page, { operationId, tags: [tag] }: Operation): Locator {
  return page.locator(`#operations-${tag}-${operationId}`);
}

function heading(page: Page, tag: string): Locator {
  return page.locator(`#operations-tag-${tag.replaceAll(' ', '_')}`);
}

/** Pastes a key into the Authorize dialog, and closes it. */
async function authorize(page: Page, key: string): Promise<void> {
  await page.locator('.btn.authorize').first().click();
  await page.locator('.modal-ux input').fill(key);
  await page.getByRole('button', { name: 'Apply credentials' }).click();
  await page.getByRole('button', { name: 'Close', exact: true }).click();
}

/** Opens an operation, executes it as it is filled in, and waits until the answer is shown. */
async function tryOut(page: Page, block: Locator) {
  await block.locator('.opblock-summary-control').click();
  await block.getByRole('button', { name: 'Try it out' }).click();
  const answer = page.waitForResponse(() => true);
  await block.getByRole('button', { name: 'Execute' }).click();
  await block.locator('.live-responses-table').waitFor();
  return answer;
}

async function isInView(element: Locator): Promise<boolean> {
  const box = await element.boundingBox();
  return box !== null && box.y >= 0 && box.y < 900;
}

/** Has the system ask for a scheme, and waits until every colour has changed. */
async function setScheme(page: Page, colorScheme: 'light' | 'dark'): Promise<void> {
  await page.emulateMedia({ colorScheme });
  await page.locator(colorScheme === 'dark' ? 'html.dark-mode' : 'html:not(.dark-mode)').waitFor();
  await until(() => page.evaluate('document.getAnimations().length === 0'), 'the end of every transition');
}

/** How wide the page is laid out: more than the screen, and it scrolls sideways. */
function widthOf(page: Page): Promise<unknown> {
  return page.evaluate('Math.max(document.documentElement.scrollWidth, document.body.scrollWidth, innerWidth)');
}

function words(text: string): string[] {
  return text.match(/[\p{L}\p{N}]+/gu) ?? [];
}
