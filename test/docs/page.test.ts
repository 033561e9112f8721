/**
 * The docs page in a real browser: what it shows, on two pages, one as it opens and `expanded`, with an operation of
 * each kind open; then in use: the key, "Try it out", and the live feed of GET /events/stream.
 */
import axe, { type AxeResults, type RunOptions } from 'axe-core';
import type { BrowserContextOptions, Locator, Page } from 'playwright-core';
import { noBrowser, startBrowser, watchedPage } from '../support/machine/browser.ts';
import { sharing } from '../support/service/sharing.ts';
import { startTestStack } from '../support/service/stack.ts';
import { until } from '../support/until.ts';
import { type Operation, operations } from './docs-page.ts';

/**
 * One operation of each kind: those of a kind have the same parts on the page. Each one that is opened takes seconds of
 * CPU time in the browser.
 */
const kinds = [
  ...new Map(
    operations.map(({ path, method, operation }) => {
      const { deprecated, 'x-stability': stability, 'x-try-it': tryIt } = operation;
      return [[method, deprecated, stability, tryIt, path.endsWith('stream')].join(), { operation }];
    }),
  ).values(),
];

const PHONE = { viewport: { width: 360, height: 740 }, isMobile: true, hasTouch: true };
const DESKTOP = { width: 1280, height: 800 };

// Serial, and in this order: what a test has opened stays open. Pages that load side by side make each other slow.
const test = sharing(noBrowser, async (t) => {
  const [service, browser] = [await startTestStack(t), await startBrowser(t)];
  const open = async (options: BrowserContextOptions) => {
    const watched = await watchedPage(browser, options);
    await watched.page.goto(`${service.rest.url}/docs`);
    await watched.page.locator('#contents a').first().waitFor();
    return watched;
  };
  const pages = [await open({ viewport: DESKTOP }), await open(PHONE)] as const;
  // One as it opens, and one that gets an operation of each kind open.
  const [{ page }, { page: expanded }] = pages;
  await expanded.setViewportSize(DESKTOP);
  await expanded.locator('.models-control').click();
  for (const { operation } of kinds) {
    const block = operationBlock(expanded, operation);
    await block.locator('.opblock-summary-control').click();
    await block.locator('.responses-inner').waitFor();
  }
  return { service, browser, pages, page, expanded };
});
test.afterEach.always((t) => {
  const { service, pages } = t.context;
  for (const { requests, errors } of pages) {
    t.deepEqual([...new Set(requests.map((url) => new URL(url).origin))], [service.rest.url], 'nothing from elsewhere');
    t.deepEqual(errors, []);
  }
});

test.serial('The page - loads its own files and the description, and nothing else', async (t) => {
  const { page, pages } = t.context;
  const paths = pages[0]?.requests.map((url) => new URL(url).pathname) ?? [];
  // The browser may request the icon late or not at all.
  const others = paths.filter((path) => path !== '/docs/favicon.svg');
  const scripts = ['chapters.js', 'feed.js', 'operations.css', 'page.css', 'page.js', 'plugin.js'];
  const files = [...scripts, 'swagger-ui-bundle.js', 'swagger-ui.css'].map((name) => `/docs/${name}`);
  t.deepEqual(others.toSorted(), ['/docs', ...files, '/openapi.json']);
  t.is(await page.title(), 'Pet Store API');
  t.is(await page.locator('html').getAttribute('lang'), 'en');
});

test.serial('Operations - the page shows every operation of the description', async (t) => {
  const rows = t.context.page.locator('.opblock-summary');
  const methods = await rows.locator('.opblock-summary-method').allTextContents();
  const paths = await rows.locator('[data-path]').evaluateAll((all) => all.map((one) => one.getAttribute('data-path')));
  const listed = methods.map((method, index) => `${method.toLowerCase()} ${paths[index]}`);
  const described = operations.map(({ method, path }) => `${method} ${path}`);
  t.deepEqual(listed, described);
  t.true(listed.length >= 20);
});

test.serial('Getting started - the commands have the address of the page; a link leads to another page', async (t) => {
  const { page, service } = t.context;
  const commands = (await page.locator('.chapter pre').allInnerTexts()).join();
  t.true(commands.includes(`export API=${service.rest.url} `));
  t.false(commands.includes('127.0.0.1:8080'));

  const place = () => page.locator('#conditional-requests').evaluate((element) => element.getBoundingClientRect().top);
  t.true((await place()) > DESKTOP.height);
  await page.locator('#getting-started a', { hasText: 'Conditional requests' }).click();
  await until(async () => Math.abs(await place()) < DESKTOP.height / 2, 'the page');
  t.deepEqual(page.context().pages(), [page]);
  await page.evaluate("history.replaceState(null, '', '/docs')");
});

test.serial('Operations - show beta, experimental, deprecated and sunset; others have no badge', async (t) => {
  const { page } = t.context;
  for (const { operation } of operations) {
    const { 'x-stability': stability, 'x-sunset': sunset, deprecated, operationId } = operation;
    const badges = [stability, deprecated && 'deprecated', sunset && `sunset ${sunset.slice(0, 10)}`].filter(Boolean);
    t.deepEqual(await operationBlock(page, operation).locator('.badge').allInnerTexts(), badges, operationId);
  }
  const all = (await page.locator('.badge').allInnerTexts()).join(' ');
  for (const kind of ['beta', 'experimental', 'deprecated', 'sunset']) t.true(all.includes(kind));
  t.is(await page.locator('.badge time').getAttribute('datetime'), '2027-12-31T23:59:59Z');
});

test.serial('Try it out - is offered, but for streams and what the description excludes, and says why', async (t) => {
  for (const { operation } of kinds) {
    const block = operationBlock(t.context.expanded, operation);
    const { operationId } = operation;
    const isOff = operation['x-try-it'] === false;
    t.is(await block.locator('.try-out__btn').count(), isOff || operationId === 'watchEvents' ? 0 : 1, operationId);
    t.is(await block.getByText('“Try it out” is off').count(), isOff ? 1 : 0, operationId);
    const reason = block.locator('.opblock-description').getByText(/Interactive testing is disabled: .{20,}/);
    t.is(await reason.count(), isOff ? 1 : 0, operationId);
    if (operationId === 'listOrders') t.true(isOff);
  }
});

for (const colorScheme of ['light', 'dark'] as const) {
  test.serial(`Accessibility - axe finds nothing with everything closed, ${colorScheme}`, async (t) => {
    const { page } = t.context;
    await page.emulateMedia({ colorScheme });
    await page.locator(colorScheme === 'dark' ? 'html.dark-mode' : 'html:not(.dark-mode)').waitFor();
    t.deepEqual(await violationsOf(page), []);
  });
}

test.serial('Accessibility - axe finds nothing on a phone with all parts open, which scrolls one way', async (t) => {
  const { expanded: page } = t.context;
  await page.locator('details:not([open]) > summary').evaluateAll((summaries) => {
    for (const summary of summaries) summary.click();
  });
  await page.setViewportSize(PHONE.viewport);
  const width = 'Math.max(document.documentElement.scrollWidth, document.body.scrollWidth, innerWidth)';
  t.is(await page.evaluate(width), 360);
  // This rule of axe takes half a minute on a page with everything open. The test before looks at colours.
  t.deepEqual(await violationsOf(page, { rules: { 'color-contrast': { enabled: false } } }), []);
});

test.serial('Try it out - GET /pets returns what the API returns, with the key and the rate headers', async (t) => {
  const { page, service } = t.context;
  const { rest, key } = service;
  await rest.pet({ name: 'Ginger "the 1st" <b>' });
  await page.locator('.btn.authorize').click();
  await page.getByLabel('Paste your key (pst_…)').waitFor();
  t.regex((await page.locator('.modal-ux').allInnerTexts()).join(), /Bearer pst_.*works too/);
  await page.keyboard.press('Escape');
  await page.locator('.btn.authorize').click();
  await page.locator('.modal-ux input').fill(` Bearer ${key}  `);
  await page.locator('.modal-ux').getByRole('button', { name: 'Authorize' }).click();
  await page.getByRole('button', { name: 'Close', exact: true }).click();
  const block = page.locator('#operations-Pets-listPets');
  await block.locator('.opblock-summary-control').click();
  await block.getByRole('button', { name: 'Try it out' }).click();
  const answered = page.waitForResponse(() => true);
  await block.getByRole('button', { name: 'Execute' }).click();
  await block.locator('.live-responses-table').waitFor();
  const response = await answered;
  t.is((await response.request().allHeaders()).authorization, `Bearer ${key}`);
  t.is(response.status(), 200);
  const shown = block.locator('.live-responses-table .response').first();
  t.is(await shown.locator('.response-col_status').textContent(), '200');
  const body = await shown.locator('.highlight-code code').textContent();
  t.deepEqual(JSON.parse(body ?? ''), (await rest.get('/pets')).body);
  const headers = (await shown.locator('.headerline').allInnerTexts()).map((line) => line.trim());
  for (const name of ['x-ratelimit-limit', 'x-ratelimit-remaining', 'x-ratelimit-reset']) {
    const value = (await response.headerValue(name)) ?? '';
    t.regex(value, /^\d+$/);
    t.true(headers.includes(`${name}: ${value}`), name);
  }
});

test.serial('Feed - a button follows it, shows each event as it comes, and stops', async (t) => {
  const { page, service } = t.context;
  const block = page.locator('#operations-Store-watchEvents');
  const press = (name: string) => block.getByRole('button', { name }).click();
  const lines = block.getByRole('list', { name: 'Events' }).getByRole('listitem');
  const status = async () => (await block.getByRole('status').allInnerTexts()).join();
  const says = (text: RegExp) => until(async () => text.test(await status()), String(text));
  await block.locator('.opblock-summary-control').click();
  await block.getByRole('button', { name: 'Follow live' }).waitFor();
  t.is(await block.getByRole('button', { name: 'Try it out' }).count(), 0);
  await press('Follow live');
  await says(/^Connected/);
  const id = await service.rest.category('Seen live');
  await lines.first().waitFor();
  t.regex((await lines.allInnerTexts()).join(), new RegExp(`category\\.created.*"id":${id},"name":"Seen live"`));
  await service.rest.pet({ name: 'Too' });
  await until(async () => (await lines.count()) >= 3, 'more lines');
  await says(/^Connected: \d+ events so far/);
  const isCancelled = () => page.waitForEvent('requestfailed', (request) => /\/events\/stream/.test(request.url()));
  const first = isCancelled();
  await press('Stop');
  await says(/^Stopped after \d+ events/);
  const shown = await lines.count();
  await first;
  await service.rest.category('Not seen');
  t.is(await lines.count(), shown);
  // It goes on where it was, and ends when its operation is closed.
  await press('Follow live');
  await until(async () => (await lines.allInnerTexts()).join().includes('Not seen'), 'the event between');
  t.is(await lines.count(), shown + 1);
  const second = isCancelled();
  await block.locator('.opblock-summary-control').click();
  await t.notThrowsAsync(second);
});

test.serial('The key - is kept in this tab only, until the tab is closed or the user logs out', async (t) => {
  const { page } = t.context;
  await page.reload();
  await page.locator('.btn.authorize.locked').waitFor();
  t.is(await page.evaluate('localStorage.length'), 0);

  const tab = await page.context().newPage();
  await tab.goto(page.url());
  await tab.locator('.btn.authorize.unlocked').waitFor();

  await page.locator('.btn.authorize').click();
  await page.getByRole('button', { name: 'Logout' }).click();
  await page.reload();
  await page.locator('.btn.authorize.unlocked').waitFor();
});

function operationBlock(page: Page, { operationId, tags: [tag] }: Operation): Locator {
  return page.locator(`#operations-${tag}-${operationId}`);
}

/** Returns a line for each violation that axe-core finds. Evaluated, because the page's policy forbids a script tag. */
async function violationsOf(page: Page, options: RunOptions = {}): Promise<string[]> {
  // The colours that remain: those of a button take 300 ms, and have too little contrast meanwhile.
  await until(() => page.evaluate('document.getAnimations().length === 0'), 'the end of every transition');
  await page.evaluate(axe.source);
  const given = JSON.stringify({ resultTypes: ['violations'], ...options });
  const { violations } = (await page.evaluate(`axe.run(${given})`)) as AxeResults;
  return violations.flatMap(({ id, help, nodes }) => nodes.map(({ target }) => `${id}: ${help}: ${target.join(' ')}`));
}
