/** The docs page in use: the key, "Try it out", and the live feed of GET /events/stream. */
import type { Page } from 'playwright-core';
import { openEvents } from '../support/calls/event-source.ts';
import { until } from '../support/until.ts';
import { authorize, type DocsPageContext, docsPageTest, tryOut } from './docs-page.ts';

// Serial, and in this order, on one page: what a test has opened stays open.
const test = docsPageTest(async () => ({}));

test.serial('Try it out - GET /pets returns what the API returns, with the key and the rate headers', async (t) => {
  const { page, service } = t.context;
  const { rest, key } = service;
  await rest.pet({ name: 'Ginger "the 1st" <b>' });
  await page.locator('.btn.authorize').click();
  await page.getByLabel('Paste your key (pst_…)').waitFor();
  t.regex((await page.locator('.modal-ux').allInnerTexts()).join(), /Bearer pst_.*works too/);
  await page.keyboard.press('Escape');
  await authorize(page, ` Bearer ${key}  `);
  const block = page.locator('#operations-Pets-listPets');
  const response = await tryOut(page, block);
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
  const { block, start, stop, lines, says } = await openFeed(page);
  t.is(await block.getByRole('button', { name: 'Try it out' }).count(), 0);
  await start();
  await says(/^Connected/);
  const id = await service.rest.category('Seen live');
  await lines.first().waitFor();
  t.regex((await lines.allInnerTexts()).join(), new RegExp(`category\\.created.*"id":${id},"name":"Seen live"`));
  await service.rest.pet({ name: 'Too' });
  await until(async () => (await lines.count()) >= 3, 'more lines');
  await says(/^Connected: \d+ events so far/);
  await stop();
  await says(/^Stopped after \d+ events/);
  const shown = await lines.count();
  await until(async () => !(await areStreamsOpen(t.context)), 'the end of the stream at the server');
  await service.rest.category('Not seen');
  t.is(await lines.count(), shown);
  // It goes on where it was, and ends when its operation is closed.
  await start();
  await until(async () => (await lines.allInnerTexts()).join().includes('Not seen'), 'the event between');
  t.is(await lines.count(), shown + 1);
  await block.locator('.opblock-summary-control').click();
  await until(async () => !(await areStreamsOpen(t.context)), 'the end of the stream at the server');
});

test.serial('The key - is kept in this tab only, until the tab is closed or the user logs out', async (t) => {
  const { page } = t.context;
  await page.reload();
  await page.locator('.btn.authorize.locked').waitFor();
  t.is(await page.evaluate('localStorage.length'), 0);

  const tab = await page.context().newPage();
  await tab.goto(page.url());
  await tab.locator('.btn.authorize.unlocked').waitFor();

  await logOut(page);
  await page.reload();
  await page.locator('.btn.authorize.unlocked').waitFor();
});

async function logOut(page: Page): Promise<void> {
  await page.locator('.btn.authorize').click();
  await page.getByRole('button', { name: 'Logout' }).click();
}

/** Opens the operation. */
async function openFeed(page: Page) {
  const block = page.locator('#operations-Store-watchEvents');
  await block.locator('.opblock-summary-control').click();
  await block.getByRole('button', { name: 'Follow live' }).waitFor();
  const status = async () => (await block.getByRole('status').allInnerTexts()).join();
  return {
    block,
    start: () => block.getByRole('button', { name: 'Follow live' }).click(),
    stop: () => block.getByRole('button', { name: 'Stop' }).click(),
    lines: block.getByRole('list', { name: 'Events' }).getByRole('listitem'),
    says: (text: RegExp) => until(async () => text.test(await status()), String(text)),
  };
}

/** Whether the account has streams open at this server: then there is no room for ten. */
async function areStreamsOpen({ service }: DocsPageContext): Promise<boolean> {
  const streams = await Promise.all(
    Array.from({ length: 10 }, () => openEvents(`${service.rest.url}/events/stream`, service.key)),
  );
  for (const { close } of streams) close();
  return streams.some(({ response }) => response.status === 429);
}
