/** What the docs page shows, on two pages: one as it opens, one with an operation of each kind open. */
import axe, { type AxeResults, type RunOptions } from 'axe-core';
import type { Page } from 'playwright-core';
import {
  DESKTOP,
  docsPageTest,
  kinds,
  openDocs,
  openFolds,
  openOperations,
  operationBlock,
  operations,
  PHONE,
  setScheme,
  transitionsEnd,
} from './docs-page.ts';

// Serial, and in this order: each page is more and more open. Pages that load side by side make each other slow.
const test = docsPageTest(async (opener) => {
  const expanded = await openDocs(opener, PHONE);
  await expanded.setViewportSize(DESKTOP);
  await openOperations(expanded);
  return { expanded };
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
  const listed = await t.context.page
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

test.serial('Getting started - the page puts its own address into the commands', async (t) => {
  const { page, service } = t.context;
  const commands = (await page.locator('.chapter pre').allInnerTexts()).join();
  t.true(commands.includes(`export API=${service.rest.url} `));
  t.false(commands.includes('127.0.0.1:8080'));
});

test.serial('Operations - show beta, experimental, deprecated and sunset; others have no badge', async (t) => {
  const { page } = t.context;
  for (const { operation } of operations) {
    const { 'x-stability': stability, 'x-sunset': sunset, deprecated, operationId } = operation;
    const badges = [stability, deprecated && 'deprecated', sunset && `sunset ${sunset.slice(0, 10)}`].filter(Boolean);
    const block = operationBlock(page, operation);
    t.deepEqual(await block.locator('.badge').allInnerTexts(), badges, operationId);
    const line = await block
      .locator('[data-path]')
      .evaluate((element) => element.ownerDocument.defaultView?.getComputedStyle(element).textDecorationLine);
    t.is(line, deprecated ? 'line-through' : 'none', operationId);
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
    await setScheme(page, colorScheme);
    t.deepEqual(await violationsOf(page), []);
  });
}

test.serial('Accessibility - axe finds nothing on a phone with all parts open, which scrolls one way', async (t) => {
  const { expanded: page } = t.context;
  await openFolds(page);
  await page.setViewportSize(PHONE.viewport);
  t.is(await widthOf(page), 360);
  // This rule of axe takes half a minute on a page with everything open. The test before looks at colours.
  t.deepEqual(await violationsOf(page, { rules: { 'color-contrast': { enabled: false } } }), []);
});

/** Returns a line for each violation that axe-core finds. Evaluated, because the page's policy forbids a script tag. */
async function violationsOf(page: Page, options: RunOptions = {}): Promise<string[]> {
  await transitionsEnd(page);
  await page.evaluate(axe.source);
  const given = JSON.stringify({ resultTypes: ['violations'], ...options });
  const { violations } = (await page.evaluate(`axe.run(${given})`)) as AxeResults;
  return violations.flatMap(({ id, help, nodes }) => nodes.map(({ target }) => `${id}: ${help}: ${target.join(' ')}`));
}

/** Returns the width of the layout. A page that is wider than the screen scrolls sideways. */
function widthOf(page: Page): Promise<unknown> {
  return page.evaluate('Math.max(document.documentElement.scrollWidth, document.body.scrollWidth, innerWidth)');
}
