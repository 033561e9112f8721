/** The docs page in a real browser. */
import { readFileSync } from 'node:fs';
import type { Locator, Page, Response } from 'playwright-core';
import { until } from '../support/until.ts';

interface Operation {
  readonly operationId: string;
  readonly summary: string;
  readonly tags: readonly [string];
  readonly deprecated?: boolean;
  readonly 'x-stability'?: string;
  readonly 'x-sunset'?: string;
  readonly 'x-try-it'?: boolean;
}

interface Description {
  readonly tags: readonly { readonly name: string; readonly description: string; readonly 'x-traitTag'?: boolean }[];
  readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>;
}

export const description: Description = JSON.parse(readFileSync('gen/openapi/openapi.json', 'utf8'));
export const operations = Object.entries(description.paths).flatMap(([path, methods]) =>
  Object.entries(methods).map(([method, operation]) => ({ path, method, operation })),
);

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
