/** The docs page in a real browser, over a service of its own, for the test files of test/docs. */
import { readFileSync } from 'node:fs';
import type { TestFn } from 'ava';
import type { Browser, BrowserContextOptions, Locator, Page, Response } from 'playwright-core';
import { browserTest, startBrowser, type WatchedPage, watchedPage } from '../support/machine/browser.ts';
import { startTestStack, type TestStack } from '../support/service/stack.ts';
import { until } from '../support/until.ts';

export interface DocsPageContext {
  readonly service: TestStack;
  readonly browser: Browser;
  /** Every page that is open. */
  readonly pages: WatchedPage[];
  /** The page as it is when it has been opened, for tests that only look. */
  readonly page: Page;
}

type Opener = Pick<DocsPageContext, 'service' | 'browser' | 'pages'>;

interface Operation {
  readonly operationId: string;
  readonly tags: readonly [string];
  readonly description: string;
  readonly deprecated?: boolean;
  readonly 'x-stability'?: string;
  readonly 'x-sunset'?: string;
  readonly 'x-try-it'?: boolean;
  readonly responses: Readonly<Record<string, { readonly $ref?: string }>>;
}

interface Description {
  readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>;
}

export const PHONE = { viewport: { width: 360, height: 740 }, isMobile: true, hasTouch: true };
export const DESKTOP = { width: 1280, height: 800 };

const description: Description = JSON.parse(readFileSync('gen/openapi/openapi.json', 'utf8'));
export const operations = Object.entries(description.paths).flatMap(([path, methods]) =>
  Object.entries(methods).map(([method, operation]) => ({ path, method, operation })),
);

/**
 * ava's `test` with a service, a browser and an open page. After every test it checks that no page has loaded anything
 * from elsewhere or logged an error, and closes the pages that the test opened.
 */
export function docsPageTest<More = object>(
  prepare: (opener: Opener) => Promise<More>,
): TestFn<DocsPageContext & More> {
  const test = browserTest<DocsPageContext & More>();
  const shared = new Set<WatchedPage>();

  test.before(async (t) => {
    const opener: Opener = { service: await startTestStack(), browser: await startBrowser(), pages: [] };
    t.context = { ...opener, page: await openDocs(opener), ...(await prepare(opener)) };
    for (const watched of opener.pages) shared.add(watched);
  });

  test.after.always(async (t) => {
    await t.context.browser?.close();
    await t.context.service?.close();
  });

  test.afterEach.always(async (t) => {
    const { service, pages } = t.context;
    for (const watched of pages.splice(0)) {
      t.deepEqual([...new Set(watched.requests.map((url) => new URL(url).origin))], [service.rest.url]);
      t.deepEqual(watched.errors, []);
      if (shared.has(watched)) pages.push(watched);
      else await watched.page.context().close();
    }
  });

  return test;
}

/** Loads the docs page and waits until it shows the description. */
async function load(page: Page, { service }: Opener): Promise<void> {
  await page.goto(`${service.rest.url}/docs`);
  await page.locator('#contents a').first().waitFor();
}

/** Opens a new page that shows the description. */
export async function openDocs(opener: Opener, options: BrowserContextOptions = {}): Promise<Page> {
  const watched = await watchedPage(opener.browser, { viewport: DESKTOP, ...options });
  opener.pages.push(watched);
  await load(watched.page, opener);
  return watched.page;
}

/**
 * One operation of each kind: those of a kind have the same parts on the page. Each one that is opened takes seconds of
 * CPU time in the browser.
 */
export const kinds = [
  ...new Map(
    operations.map(({ path, method, operation }) => {
      const { deprecated, 'x-stability': stability, 'x-try-it': tryIt } = operation;
      return [[method, deprecated, stability, tryIt, path.endsWith('stream')].join(), { operation }];
    }),
  ).values(),
];

/** Opens an operation of each kind, and the schemas. */
export async function openOperations(page: Page): Promise<void> {
  await page.locator('.models-control').click();
  for (const { operation } of kinds) {
    const block = operationBlock(page, operation);
    await block.locator('.opblock-summary-control').click();
    await block.locator('.responses-inner').waitFor();
  }
}

/** Opens every fold. */
export async function openFolds(page: Page): Promise<void> {
  await page.locator('details:not([open]) > summary').evaluateAll((summaries) => {
    for (const summary of summaries) summary.click();
  });
}

export function operationBlock(page: Page, { operationId, tags: [tag] }: Operation): Locator {
  return page.locator(`#operations-${tag}-${operationId}`);
}

/** Pastes a key into the Authorize dialog, and closes it. */
export async function authorize(page: Page, key: string): Promise<void> {
  await page.locator('.btn.authorize').first().click();
  await page.locator('.modal-ux input').fill(key);
  await page.locator('.modal-ux').getByRole('button', { name: 'Authorize' }).click();
  await page.getByRole('button', { name: 'Close', exact: true }).click();
}

/** Opens an operation, executes it with the values that the form begins with, and waits until the response is shown. */
export async function tryOut(page: Page, block: Locator): Promise<Response> {
  await block.locator('.opblock-summary-control').click();
  await block.getByRole('button', { name: 'Try it out' }).click();
  const response = page.waitForResponse(() => true);
  await block.getByRole('button', { name: 'Execute' }).click();
  await block.locator('.live-responses-table').waitFor();
  return response;
}

/** Emulates the colour scheme of the system, and waits until every colour has changed. */
export async function setScheme(page: Page, colorScheme: 'light' | 'dark'): Promise<void> {
  await page.emulateMedia({ colorScheme });
  await page.locator(colorScheme === 'dark' ? 'html.dark-mode' : 'html:not(.dark-mode)').waitFor();
  await transitionsEnd(page);
}

/** Waits for the colours that remain: those of a button take 300 ms, and have too little contrast meanwhile. */
export async function transitionsEnd(page: Page): Promise<void> {
  await until(() => page.evaluate('document.getAnimations().length === 0'), 'the end of every transition');
}
