import axe, { type AxeResults, type RunOptions } from 'axe-core';
import type { Page } from 'playwright-core';
import { DESKTOP, docsPageTest, openDocs, openEverything, PHONE, setScheme } from '../support/docs-page.ts';
import { textsWithLowContrast } from './contrast.js';

// A rule of axe takes seconds of a processor on a page with everything open: each is checked where it may differ.
const COLOURS = { runOnly: ['color-contrast', 'link-in-text-block'] };
const ALL_BUT_COLOURS = { rules: { 'color-contrast': { enabled: false } } };

// Serial: pages that load side by side only make each other slow.
const test = docsPageTest(async (opener) => ({ expanded: await openEverything(opener, PHONE) }));

for (const colorScheme of ['light', 'dark'] as const) {
  test.serial(`Accessibility - axe finds nothing with everything closed, ${colorScheme}`, async (t) => {
    const { page } = t.context;
    await setScheme(page, colorScheme);
    t.deepEqual(await violationsOf(page), []);
  });

  test.serial(`Accessibility - axe finds nothing with everything open, ${colorScheme}`, async (t) => {
    const { expanded: page } = t.context;
    await page.setViewportSize(DESKTOP);
    await setScheme(page, colorScheme);
    t.deepEqual(await violationsOf(page, colorScheme === 'light' ? {} : COLOURS), []);
  });
}

test.serial('Accessibility - axe finds nothing on a phone with everything open', async (t) => {
  const { expanded: page } = t.context;
  await page.setViewportSize(PHONE.viewport);
  t.deepEqual(await violationsOf(page, ALL_BUT_COLOURS), []);
});

test.serial('Accessibility - axe finds nothing in forms, lists of ids and the Authorize dialog', async (t) => {
  const page = await openDocs(t.context);
  for (const id of ['Pets-listPets', 'Store-placeOrder']) {
    const block = page.locator(`#operations-${id}`);
    await block.locator('.opblock-summary-control').click();
    await block.getByRole('button', { name: 'Try it out' }).click();
    await block.locator('.execute').waitFor();
  }
  await page.getByRole('button', { name: 'Add integer item' }).click();
  t.deepEqual(await violationsOf(page), []);
  await page.locator('.btn.authorize').click();
  await page.locator('.modal-ux').waitFor();
  t.deepEqual(await violationsOf(page), []);
});

test.serial('The keyboard - opens an operation, and closes the dialog', async (t) => {
  const page = await openDocs(t.context);
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
  const page = await openDocs(t.context, PHONE);
  t.is(await widthOf(page), 360);
  await page.locator('.btn.authorize').click();
  await page.locator('.modal-ux').waitFor();
  t.is(await widthOf(page), 360);
});

test.serial('A phone - scrolls in one direction only when everything is open', async (t) => {
  const { expanded: page } = t.context;
  await page.setViewportSize(PHONE.viewport);
  t.is(await widthOf(page), 360);
});

test.serial('Colours - follow the scheme of the system, also while the page is open', async (t) => {
  const page = await openDocs(t.context, { colorScheme: 'dark' });
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
  test.serial(`Colours - every text has enough contrast, ${colorScheme}`, async (t) => {
    const { expanded: page } = t.context;
    await page.setViewportSize(PHONE.viewport);
    await setScheme(page, colorScheme);
    t.deepEqual(await page.evaluate(textsWithLowContrast, 4.5), []);
  });
}

/** Returns a line for each violation that axe-core finds. Evaluated, because the page's policy forbids a script tag. */
async function violationsOf(page: Page, options: RunOptions = {}): Promise<string[]> {
  await page.evaluate(axe.source);
  const given = JSON.stringify({ resultTypes: ['violations'], ...options });
  const { violations } = (await page.evaluate(`axe.run(${given})`)) as AxeResults;
  return violations.flatMap(({ id, help, nodes }) => nodes.map(({ target }) => `${id}: ${help}: ${target.join(' ')}`));
}

/** Returns the width of the layout. A page that is wider than the screen scrolls sideways. */
function widthOf(page: Page): Promise<unknown> {
  return page.evaluate('Math.max(document.documentElement.scrollWidth, document.body.scrollWidth, innerWidth)');
}
