/** A real browser for a test file: Debian's `chromium`, or the one that CHROMIUM names. */
import { type Browser, type BrowserContextOptions, chromium } from 'playwright-core';
import type { Scope } from '../scope.ts';
import { findProgram } from './find-program.ts';

const NAMES = ['chromium', 'chromium-browser', 'google-chrome-stable', 'google-chrome'];
const MISSING =
  'NO BROWSER FOUND, so nothing of this file is tested: install it (apt-get install chromium), or set CHROMIUM';

/** The browser itself sends no requests, so a test records only those of its page. */
const FLAGS = [
  ...['--no-sandbox', '--disable-gpu', '--disable-quic', '--no-first-run', '--disable-background-networking'],
  ...['--disable-component-update', '--disable-sync', '--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1'],
];

/** For each step. A page that needs a second can need a minute when many tests run on few cores. */
const TIMEOUT_MS = 90_000;

const executablePath = process.env.CHROMIUM || findProgram(NAMES);
export const noBrowser = executablePath === undefined ? MISSING : undefined;

/** Starts a headless browser with an empty temporary profile. */
export async function startBrowser(t: Scope): Promise<Browser> {
  if (executablePath === undefined) throw new Error(MISSING);
  const browser = await chromium.launch({ executablePath, args: FLAGS });
  t.teardown(() => browser.close());
  return browser;
}

/** A page in its own context, with its requests and errors. */
export async function watchedPage(browser: Browser, options: BrowserContextOptions) {
  const context = await browser.newContext(options);
  context.setDefaultTimeout(TIMEOUT_MS);
  /** The URL of every request, except data: and blob:. */
  const requests: string[] = [];
  /** Its logged errors, failed scripts and violations of its Content-Security-Policy included. */
  const errors: string[] = [];
  context.on('request', (request) => /^(data|blob):/.test(request.url()) || requests.push(request.url()));
  context.on('console', (message) => message.type() === 'error' && errors.push(message.text()));
  context.on('weberror', (error) => errors.push(String(error.error())));
  return { page: await context.newPage(), requests, errors };
}
