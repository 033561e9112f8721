/**
 * The public files: the interface description and the docs page. Each is read and compressed at its first request, and
 * then kept in memory: about 3 MiB in all.
 */
import { readFile } from 'node:fs/promises';
import { promisify } from 'node:util';
import { constants, gzip } from 'node:zlib';

export interface ServedFile {
  readonly contentType: string;
  /** Response headers. */
  readonly headers: Readonly<Record<string, string>>;
  read(encoding: 'identity' | 'gzip'): Promise<Buffer>;
}

const JAVASCRIPT = 'text/javascript; charset=utf-8';
const CSS = 'text/css; charset=utf-8';
const FIVE_MINUTES = { 'cache-control': 'public, max-age=300' };
const ONE_DAY = { 'cache-control': 'public, max-age=86400' };

/** Readable from every origin, for editors and code generators that run in the browser. */
const DESCRIPTION = { ...FIVE_MINUTES, 'access-control-allow-origin': '*' };

/** The page loads only from its own origin, and can't be embedded. swagger-ui has its icons in data: URLs. */
const PAGE = {
  'content-security-policy': [
    "default-src 'none'",
    "script-src 'self'",
    "style-src 'self'",
    "img-src 'self' data:",
    "connect-src 'self'",
    "base-uri 'none'",
    "form-action 'none'",
    "frame-ancestors 'none'",
  ].join('; '),
  'x-content-type-options': 'nosniff',
  'referrer-policy': 'no-referrer',
};

/** By path, without the leading slash. The paths are those of `WebService.GetFile` in the proto file. */
export const FILES: ReadonlyMap<string, ServedFile> = new Map([
  ['openapi.json', served('gen/openapi/openapi.json', 'application/json', DESCRIPTION)],
  ['openapi.yaml', served('gen/openapi/openapi.yaml', 'application/yaml', DESCRIPTION)], // RFC 9512
  ['petstore.binpb', served('gen/public.binpb', 'application/octet-stream', DESCRIPTION)], // the proto files
  ['docs', served('docs-page/index.html', 'text/html; charset=utf-8', { ...PAGE, ...FIVE_MINUTES })],
  ['docs/page.js', served('docs-page/page.js', JAVASCRIPT, { ...PAGE, ...FIVE_MINUTES })],
  ['docs/plugin.js', served('docs-page/plugin.js', JAVASCRIPT, { ...PAGE, ...FIVE_MINUTES })],
  ['docs/chapters.js', served('docs-page/chapters.js', JAVASCRIPT, { ...PAGE, ...FIVE_MINUTES })],
  ['docs/feed.js', served('docs-page/feed.js', JAVASCRIPT, { ...PAGE, ...FIVE_MINUTES })],
  ['docs/page.css', served('docs-page/page.css', CSS, { ...PAGE, ...FIVE_MINUTES })],
  ['docs/operations.css', served('docs-page/operations.css', CSS, { ...PAGE, ...FIVE_MINUTES })],
  ['docs/favicon.svg', served('docs-page/favicon.svg', 'image/svg+xml', { ...PAGE, ...FIVE_MINUTES })],
  ['docs/swagger-ui-bundle.js', served(swaggerUi('swagger-ui-bundle.js'), JAVASCRIPT, { ...PAGE, ...ONE_DAY })],
  ['docs/swagger-ui.css', served(swaggerUi('swagger-ui.css'), CSS, { ...PAGE, ...ONE_DAY })],
]);

function swaggerUi(name: string): string {
  return `node_modules/swagger-ui-dist/${name}`;
}

function served(path: string, contentType: string, headers: Readonly<Record<string, string>>): ServedFile {
  const url = new URL(`../../${path}`, import.meta.url);
  const plain = once(() => readFile(url));
  const compressed = once(async () => promisify(gzip)(await plain(), { level: constants.Z_BEST_COMPRESSION }));
  return { contentType, headers, read: (encoding) => (encoding === 'gzip' ? compressed() : plain()) };
}

/** Calls `make` on first use and caches its result. A failure is not cached. */
function once<T>(make: () => Promise<T>): () => Promise<T> {
  let cached: Promise<T> | undefined;
  return () => {
    cached ??= make().catch((error: unknown) => {
      cached = undefined;
      throw error;
    });
    return cached;
  };
}
