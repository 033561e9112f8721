import type { Locator, Page } from 'playwright-core';
import {
  authorize,
  description,
  docsPageTest,
  isInView,
  load,
  openDocs,
  operations,
  PHONE,
  tryOut,
  watch,
} from '../support/docs-page.ts';
import { until } from '../support/until.ts';

const chapters = description.tags.filter(({ name }) => !operations.some(({ operation }) => operation.tags[0] === name));

// Serial: pages that load side by side only make each other slow.
const test = docsPageTest(async () => ({}));

test.serial('The page - a browser is redirected to it from /', async (t) => {
  const { page } = await watch(t.context);
  await page.goto(`${t.context.service.rest.url}/`);
  t.is(page.url(), `${t.context.service.rest.url}/docs`);
  t.is(await page.title(), 'Pet Store API');
  t.is(await page.locator('html').getAttribute('lang'), 'en');
});

test.serial('The page - loads its own files and the description, and nothing else', async (t) => {
  const { page, requests } = await watch(t.context);
  await load(page, t.context);
  const paths = requests.map((url) => new URL(url).pathname);
  // The browser may request the icon late or not at all.
  const others = paths.filter((path) => path !== '/docs/favicon.svg');
  t.deepEqual(others.toSorted(), [
    '/docs',
    '/docs/chapters.js',
    '/docs/feed.js',
    '/docs/operations.css',
    '/docs/page.css',
    '/docs/page.js',
    '/docs/plugin.js',
    '/docs/swagger-ui-bundle.js',
    '/docs/swagger-ui.css',
    '/openapi.json',
  ]);
});

test.serial('The page - names the description when JavaScript is off', async (t) => {
  const { page } = await watch(t.context, { javaScriptEnabled: false });
  await page.goto(`${t.context.service.rest.url}/docs`);
  t.regex((await page.locator('main').allInnerTexts()).join(), /needs JavaScript.*\/openapi\.yaml/s);
});

test.serial('Chapters - tags without operations show their whole text', async (t) => {
  const { page } = t.context;
  t.true(chapters.length >= 3);
  t.is(await page.locator('.chapter').count(), chapters.length);
  for (const { name, description: text } of chapters) {
    const chapter = page.locator('.chapter', { has: page.getByRole('heading', { name, exact: true }) });
    t.true(await chapter.isVisible());
    const markdown = text
      .replace(/^(\d+\. |```\w+$)|\]\(.*?\)/gm, '')
      .replaceAll('{base_url}', t.context.service.rest.url)
      .replaceAll('{host}', t.context.service.publicAddress);
    t.deepEqual(words((await chapter.allInnerTexts()).join()), words(`${name} ${markdown}`));
  }
});

test.serial('Contents - link to every tag, and to Categories, Orders, Inventory and Events in theirs', async (t) => {
  const { page } = t.context;
  const links = page.getByRole('navigation', { name: 'Contents' }).getByRole('link');
  const names = await links.allInnerTexts();
  const tags = description.tags.map(({ name }) => name);
  t.deepEqual(
    names.filter((name) => tags.includes(name)),
    tags,
  );
  for (const group of ['Categories', 'Orders', 'Inventory', 'Events']) t.true(names.includes(group), group);
  for (const name of names) {
    await links.getByText(name, { exact: true }).click();
    t.true(await isInView(tags.includes(name) ? heading(page, name) : page.locator(`#group-${name}`)), name);
  }
});

test.serial('Contents - the strip on a phone has a shadow where there is more', async (t) => {
  const page = await openDocs(t.context, PHONE);
  const strip = page.locator('#contents');
  t.true(await strip.evaluate((element) => element.scrollWidth > element.clientWidth));
  const edge = async () => {
    const { width = 0, height = 0 } = (await strip.boundingBox()) ?? {};
    const image = await page.screenshot({ clip: { x: width - 2, y: 2, width: 2, height: height - 6 } });
    return image.toString('base64');
  };
  const atStart = await edge();
  await strip.evaluate((element) => element.scrollTo({ left: element.scrollWidth }));
  t.not(await edge(), atStart);
});

test.serial('Chapters and tags - have headings of one style, and the button for the key no band', async (t) => {
  const { page } = t.context;
  const styles = await page.locator('.chapter h3, h3.opblock-tag').evaluateAll((headings) =>
    headings.map((element) => {
      const style = element.ownerDocument.defaultView?.getComputedStyle(element);
      return [style?.fontSize, style?.fontWeight, style?.borderBottomWidth, element.getBoundingClientRect().left];
    }),
  );
  t.is(new Set(styles.map((style) => style.join())).size, 1);
  const band = await page.locator('.scheme-container').evaluate((element) => {
    const style = element.ownerDocument.defaultView?.getComputedStyle(element);
    return [style?.backgroundColor, style?.boxShadow];
  });
  t.deepEqual(band, ['rgba(0, 0, 0, 0)', 'none']);
});

test.serial('Commands - each has a button that copies it as it is', async (t) => {
  const page = await openDocs(t.context);
  const samples = page.locator('.chapter pre');
  t.is(await page.locator('.chapter').getByRole('button', { name: 'Copy' }).count(), await samples.count());
  const command = page.locator('.code', { hasText: '"quantity": 12}' }).first();
  await command.getByRole('button', { name: 'Copy' }).click();
  await command.getByRole('button', { name: 'Copied' }).waitFor();
  await page.locator('.btn.authorize').click();
  await page.locator('.modal-ux input').press('Control+v');
  const [text = ''] = await command.locator('pre').allInnerTexts();
  t.is(await page.locator('.modal-ux input').inputValue(), text.trimEnd().replaceAll('\n', ' '));
});

test.serial('Contents - the address of a link opens the page at its tag', async (t) => {
  const { page } = t.context;
  for (const name of ['Store', 'Getting started']) {
    const href = await page.getByRole('link', { name, exact: true }).first().getAttribute('href');
    const other = await openDocs(t.context, {}, `/docs${href}`);
    t.true(await until(() => isInView(heading(other, name)), name));
  }
});

test.serial('The key - is accepted with spaces around it and with "Bearer" before it', async (t) => {
  const page = await openDocs(t.context);
  await page.locator('.btn.authorize').click();
  await page.getByLabel('Paste your key (pst_…)').waitFor();
  t.regex((await page.locator('.modal-ux').allInnerTexts()).join(), /Bearer pst_.*works too/);
  await page.keyboard.press('Escape');
  await authorize(page, ` Bearer ${t.context.service.key}  `);
  const response = await tryOut(page, page.locator('#operations-Pets-listPets'));
  t.is((await response.request().allHeaders()).authorization, `Bearer ${t.context.service.key}`);
});

test.serial('The key - is kept in this tab only, until the tab is closed or the user logs out', async (t) => {
  const page = await openDocs(t.context);
  await authorize(page, t.context.service.key);
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
  t.pass();
});

function heading(page: Page, tag: string): Locator {
  return page.locator(`#operations-tag-${tag.replaceAll(' ', '_')}`);
}

function words(text: string): string[] {
  return text.match(/[\p{L}\p{N}]+/gu) ?? [];
}
