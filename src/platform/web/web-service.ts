/**
 * WebService: health and public files, without a key. A file is sent in pieces, each after the previous one is on its
 * way. A caller who does not read therefore holds a piece or two in memory, here and in Envoy, not the whole file.
 */
import type { WebServiceServer } from '../../../gen/apiplatform/web/v1/web.ts';
import { EDGE_HEADERS, isHead, ORIGINAL_PATH } from '../edge-headers.ts';
import { apiError } from '../errors.ts';
import { decode } from '../protocols/rest/requests.ts';
import type { Call } from '../rpc/chain.ts';
import type { Service } from '../rpc/methods.ts';
import { FILES } from './files.ts';

const PIECE_BYTES = 16_384;
/** RFC 9110, section 12.5.3, as far as needed: gzip is listed, and its weight is not zero. */
const ACCEPTS_GZIP = /(^|,)\s*gzip\s*(;\s*q=(?!0*(\.0*)?\s*(,|$))[^,]*)?(,|$)/i;

export const webService: Service<WebServiceServer, Call> = {
  /** An empty body without a content type. */
  checkHealth: async () => ({ contentType: '', data: Buffer.alloc(0), extensions: [] }),

  async *getFile({ file: inMessage }, call) {
    // The path names it. The transcoder would take a query parameter for the field too, however that is spelled.
    const path = call.header(ORIGINAL_PATH) ?? `/${inMessage}`;
    const steps = decode(path.split('?', 1).join()).toString().split('/');
    const file = FILES.get(steps.filter((step) => step !== '').join('/'));
    if (file === undefined) throw apiError('ROUTE_NOT_FOUND', { method: 'GET', path });
    const hasBody = !isHead(call);
    const isCompressed = ACCEPTS_GZIP.test(call.header('accept-encoding') ?? '');
    const bytes = isCompressed ? await file.compress() : file.bytes;
    const headers = call.responseHeaders;
    for (const [header, value] of Object.entries(file.headers)) headers.set(header, value);
    headers.set('vary', 'accept-encoding');
    if (isCompressed) headers.set('content-encoding', 'gzip');
    if (call.protocol.name === 'REST') headers.set(hasBody ? 'content-length' : EDGE_HEADERS.length, `${bytes.length}`);
    // At least one piece, because it carries the content type.
    for (let start = 0; start === 0 || start < bytes.length; start += PIECE_BYTES) {
      yield { contentType: file.contentType, data: bytes.subarray(start, start + PIECE_BYTES), extensions: [] };
    }
  },
};
