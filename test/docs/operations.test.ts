import { readConfig } from '../../src/config/config.ts';
import {
  authorize,
  DESKTOP,
  docsPageTest,
  expandOperations,
  isInView,
  openDocs,
  operationBlock,
  operations,
  tryOut,
} from '../support/docs-page.ts';

// Serial: pages that load side by side only make each other slow.
const test = docsPageTest(async (opener) => {
  const expanded = await openDocs(opener);
  await expandOperations(expanded);
  return { expanded };
});

test.serial('Operations - the page shows every operation of the description', async (t) => {
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

test.serial(
  'Operations - badges show beta, experimental, deprecated and sunset; other operations have none',
  async (t) => {
    const { page } = t.context;
    for (const { operation } of operations) {
      const { 'x-stability': stability, 'x-sunset': sunset, deprecated } = operation;
      const badges = [stability, deprecated && 'deprecated', sunset && `sunset ${sunset.slice(0, 10)}`].filter(Boolean);
      t.deepEqual(
        await operationBlock(page, operation).locator('.badge').allInnerTexts(),
        badges,
        operation.operationId,
      );
    }
    const all = (await page.locator('.badge').allInnerTexts()).join(' ');
    for (const kind of ['beta', 'experimental', 'deprecated', 'sunset']) t.true(all.includes(kind));
  },
);

test.serial('Operations - a deprecated operation is struck through, with its sunset beside it', async (t) => {
  const { page } = t.context;
  for (const { operation } of operations) {
    const path = operationBlock(page, operation).locator('[data-path]');
    const line = await path.evaluate(
      (element) => element.ownerDocument.defaultView?.getComputedStyle(element).textDecorationLine,
    );
    t.is(line, operation.deprecated ? 'line-through' : 'none', operation.operationId);
  }
  t.is(await page.locator('.badge time').getAttribute('datetime'), '2027-12-31T23:59:59Z');
});

test.serial('Operations - an open operation takes at most two screens of 1280 by 800', async (t) => {
  const { expanded: page } = t.context;
  for (const { operation } of operations) {
    const box = await operationBlock(page, operation).boundingBox();
    const height = box?.height ?? Infinity;
    t.true(height > 600 && height <= 2 * DESKTOP.height, `${operation.operationId} is ${height} high`);
  }
});

test.serial('Operations - errors of every operation are folded, with one link to the page about errors', async (t) => {
  const { expanded: page } = t.context;
  for (const { operation } of operations) {
    const block = operationBlock(page, operation);
    const [shared, own] = partition(Object.keys(operation.responses), (code) => !!operation.responses[code]?.$ref);
    const visible = block.locator('.responses-inner .response[data-code]');
    t.deepEqual(await visible.evaluateAll((rows) => rows.map((row) => row.getAttribute('data-code'))), own);
    const fold = block.locator('.shared-errors');
    t.is(await fold.locator('> summary').textContent(), `Errors of every operation: ${shared.join(', ')}`);
    t.is(await fold.getAttribute('open'), null);
    t.is(await block.getByRole('link', { name: 'Errors', exact: true }).count(), 1, operation.operationId);
  }
});

test.serial('Operations - the folded errors open, and the link leads to the page about errors', async (t) => {
  const page = await openDocs(t.context);
  const block = page.locator('#operations-Pets-listPets');
  await block.locator('.opblock-summary-control').click();
  await block.locator('.shared-errors > summary').click();
  for (const code of ['API_KEY_INVALID', 'RATE_LIMITED', 'INTERNAL']) await block.getByText(code).first().waitFor();
  await block.getByRole('link', { name: 'Errors', exact: true }).click();
  t.true(await isInView(page.locator('#operations-tag-Errors')));
});

test.serial('Operations - the limits of each plan are explained beside the X-RateLimit headers', async (t) => {
  const page = await openDocs(t.context);
  const block = page.locator('#operations-Pets-listPets');
  await block.locator('.opblock-summary-control').click();
  const headers = block.locator('.response[data-code="200"] .response-headers');
  await headers.locator('summary').click();
  const limit = await headers.getByRole('row', { name: 'X-RateLimit-Limit' }).textContent();
  const { plans } = readConfig({}).limits;
  for (const [plan, { perMinute, perDay }] of Object.entries(plans)) {
    const numbers = `${plan} ${perMinute.toLocaleString('en-US')} a minute and ${perDay.toLocaleString('en-US')} a day`;
    t.true(limit?.includes(numbers), `${limit} lacks ${numbers}`);
  }
  t.regex(limit ?? '', /enterprise as agreed/);
  for (const name of ['X-RateLimit-Remaining', 'X-RateLimit-Reset']) {
    t.regex((await headers.getByRole('row', { name }).textContent()) ?? '', /window/);
  }
});

test.serial(
  'Try it out - is offered for every operation that the description does not exclude, and that is no stream',
  async (t) => {
    const { expanded: page } = t.context;
    for (const { operation } of operations) {
      const count = await operationBlock(page, operation).locator('.try-out__btn').count();
      t.is(
        count,
        operation['x-try-it'] === false || operation.operationId === 'watchEvents' ? 0 : 1,
        operation.operationId,
      );
    }
    t.is(await page.locator('#operations-Store-listOrders .try-out__btn').count(), 0);
  },
);

test.serial('Try it out - where it is off, the page says so, and the description says why', async (t) => {
  const { expanded: page } = t.context;
  for (const { operation } of operations) {
    const block = operationBlock(page, operation);
    const isOff = operation['x-try-it'] === false;
    t.is(await block.getByText('“Try it out” is off').count(), isOff ? 1 : 0, operation.operationId);
    const reason = block.locator('.opblock-description').getByText(/Interactive testing is disabled: .{20,}/);
    t.is(await reason.count(), isOff ? 1 : 0, operation.operationId);
  }
});

test.serial('Try it out - forms are empty except for path ids and defaults', async (t) => {
  const page = await openDocs(t.context);
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
  const page = await openDocs(t.context);
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

test.serial('Try it out - sends a body: POST /categories with the example creates a category', async (t) => {
  const page = await openDocs(t.context);
  await authorize(page, t.context.service.key);
  const block = page.locator('#operations-Pets-createCategory');
  const response = await tryOut(page, block);
  t.is(response.status(), 201);
  const location = (await response.headerValue('location')) ?? '';
  t.is((await t.context.service.rest.get(location)).status, 200);
  t.true((await block.locator('.headerline').allInnerTexts()).some((line) => line.trim() === `location: ${location}`));
});

function partition<T>(all: readonly T[], isFirst: (one: T) => boolean): [T[], T[]] {
  return [all.filter(isFirst), all.filter((one) => !isFirst(one))];
}
