/** The live feed of the page: GET /events/stream, followed in a real browser. */
import type { Page } from 'playwright-core';
import { watchedPage } from '../support/browser.ts';
import { authorize, DESKTOP, type DocsPageContext, docsPageTest, load, openDocs } from '../support/docs-page.ts';
import { openEvents } from '../support/event-source.ts';
import { until } from '../support/until.ts';

// Serial: pages that load side by side only make each other slow.
const test = docsPageTest(async () => ({}));

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

/** A page on which the browser may log failed requests. */
async function openFaulty({ browser, service, pages }: DocsPageContext) {
  const { page, requests } = await watchedPage(browser, { viewport: DESKTOP });
  await load(page, { browser, service, pages });
  const streams = () => requests.filter((url) => url.endsWith('/events/stream')).length;
  return { page, streams };
}

/** How many streams this server has open. */
async function openStreams({ service }: DocsPageContext): Promise<boolean> {
  const streams = await Promise.all(
    Array.from({ length: 10 }, () => openEvents(`${service.rest.url}/events/stream`, service.key)),
  );
  for (const { close } of streams) close();
  return streams.some(({ response }) => response.status === 429);
}

test.serial('Feed - a button follows it with the pasted key, shows each event as it comes, and stops', async (t) => {
  const { service } = t.context;
  const page = await openDocs(t.context);
  const { block, start, stop, lines, says } = await openFeed(page);
  t.is(await block.getByRole('button', { name: 'Try it out' }).count(), 0);
  await start();
  await says(/key is needed.*Authorize/);
  await authorize(page, service.key);
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
  await until(async () => !(await openStreams(t.context)), 'the end of the stream at the server');
  await service.rest.category('Not seen');
  t.is(await lines.count(), shown);
  // It goes on where it was.
  await start();
  await until(async () => (await lines.allInnerTexts()).join().includes('Not seen'), 'the event between');
  t.is(await lines.count(), shown + 1);
  await stop();
});

test.serial('Feed - stops when its operation is closed', async (t) => {
  const page = await openDocs(t.context);
  const { block, start, says } = await openFeed(page);
  await authorize(page, t.context.service.key);
  await start();
  await says(/^Connected/);
  await block.locator('.opblock-summary-control').click();
  await until(async () => !(await openStreams(t.context)), 'the end of the stream at the server');
  t.pass();
});

test.serial('Feed - goes on after the last event when the connection is lost', async (t) => {
  const { service } = t.context;
  const { page, streams } = await openFaulty(t.context);
  const { start, lines, says } = await openFeed(page);
  await authorize(page, service.key);
  await start();
  await says(/^Connected/);
  const names = ['Before the end', 'Just after it'];
  await service.rest.category(names[0]);
  await lines.first().waitFor();
  const [server] = service.stack.servers;
  server?.process.kill('SIGKILL');
  await says(/trying again/);
  await until(() => service.stack.servers[0] !== server, 'another server');
  await until(async () => (await fetch(`${service.rest.url}/healthz`)).ok, 'health');
  await service.rest.category(names[1]);
  await until(async () => (await lines.count()) >= 2, 'the event after the end');
  const seen = await page.locator('.feed-lines code').allInnerTexts();
  t.deepEqual(
    seen.map((text) => JSON.parse(text).category.name),
    names,
  );
  t.true(streams() >= 2);
  await page.context().close();
});

test.serial('Feed - says in words why it has stopped', async (t) => {
  const { page, streams } = await openFaulty(t.context);
  const { start, says, block } = await openFeed(page);
  await authorize(page, `pst_${'x'.repeat(38)}`);
  await start();
  await says(/^The feed has stopped: the API key is not valid/);
  await block.getByRole('button', { name: 'Follow live' }).waitFor();
  t.is(streams(), 1);
  await page.context().close();
});
