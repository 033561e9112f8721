/** The public files: the interface description and the docs page. They are kept in memory: about 3 MiB in all. */
import { readFileSync } from 'node:fs';
import { promisify } from 'node:util';
import { constants, gzip } from 'node:zlib';
import { NAME } from '../../identity.ts';

type ServedFile = ReturnType<typeof served>;

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
  [`${NAME}.binpb`, served('gen/public.binpb', 'application/octet-stream', DESCRIPTION)], // the proto files
  [`${NAME}.proto`, served('gen/public.proto', 'text/plain; charset=utf-8', DESCRIPTION)], // the same, to compile
  ['docs.md', served('gen/docs.md', 'text/markdown; charset=utf-8', DESCRIPTION)], // RFC 7763
  ['docs', served('docs-page/index.html', 'text/html; charset=utf-8', { ...PAGE, ...FIVE_MINUTES })],
  ...ofPage('text/javascript; charset=utf-8', 'page.js', 'plugin.js', 'chapters.js', 'feed.js', 'swagger-ui-bundle.js'),
  ...ofPage('text/css; charset=utf-8', 'page.css', 'operations.css', 'swagger-ui.css'),
  ['docs/favicon.svg', served('src/shop/favicon.svg', 'image/svg+xml', { ...PAGE, ...FIVE_MINUTES })],
]);

function ofPage(contentType: string, ...names: readonly string[]): [string, ServedFile][] {
  return names.map((name) => {
    const [folder, age] = name.startsWith('swagger')
      ? ['node_modules/swagger-ui-dist', ONE_DAY]
      : ['docs-page', FIVE_MINUTES];
    return [`docs/${name}`, served(`${folder}/${name}`, contentType, { ...PAGE, ...age })];
  });
}

function served(path: string, contentType: string, headers: Readonly<Record<string, string>>) {
  const bytes = readFileSync(new URL(`../../../${path}`, import.meta.url));
  let compressed: Promise<Buffer> | undefined;
  const compress = () => {
    compressed ??= promisify(gzip)(bytes, { level: constants.Z_BEST_COMPRESSION });
    return compressed;
  };
  return { contentType, headers, bytes, compress };
}
