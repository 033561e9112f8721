/**
 * What a REST request must hold to and the transcoder does not check: its query parameters and the content type of its
 * body. And what a REST answer carries that gRPC has no word for: Location, Link to the next page (RFC 8288), and that
 * the caller has it already (RFC 9110, section 13.1.2).
 * Envoy's filter knows by a header which answers it has to translate, those to Connect among them; and by another that
 * a key which it doesn't know is accepted.
 */
import { matchesWeakly } from '../entity-tags.ts';
import type { Call, Interceptor } from '../interceptors/chain.ts';
import { ETAG, readCondition } from '../interceptors/etags.ts';
import { fillPath } from '../operations.ts';
import { EDGE_HEADERS, ORIGINAL_PATH } from './headers.ts';
import { checkContentType, checkQuery } from './request-rules.ts';

export const rest: Interceptor = {
  name: 'rest',
  after: {
    authentication: 'a caller without a valid key learns nothing else',
    limits: 'what is past the limit is refused whatever it says',
    message: 'how long and how slow a body is comes before what it says',
  },
  async intercept(call, next) {
    if (headerOf(call, EDGE_HEADERS.stranger) !== undefined) call.responseHeaders.set(EDGE_HEADERS.accepted, '1');
    const path = headerOf(call, ORIGINAL_PATH);
    if (path === undefined) return markTranslated.intercept(call, next);
    checkContentType(headerOf(call, EDGE_HEADERS.bodyType));
    checkQuery(path, call.operation);
    const ifNoneMatch = readCondition(call, 'if-none-match');
    const answer = await next(call);
    call.responseHeaders.set(EDGE_HEADERS.request, '1');
    addLinks(call, path, answer.message as Readonly<Record<string, unknown>>);
    const etag = call.responseHeaders.get(ETAG);
    if (ifNoneMatch !== undefined && etag !== undefined && matchesWeakly(ifNoneMatch, etag)) {
      call.responseHeaders.set(EDGE_HEADERS.notModified, '1');
    }
    return answer;
  },
};

/** Says to Envoy's filter which answers it has to translate, and no more: for what needs no key, and for Connect. */
export const markTranslated: Interceptor = {
  name: 'mark-translated',
  after: {},
  async intercept(call, next) {
    const answer = await next(call);
    const isTranslated = headerOf(call, ORIGINAL_PATH) ?? headerOf(call, EDGE_HEADERS.connect);
    if (isTranslated !== undefined) call.responseHeaders.set(EDGE_HEADERS.request, '1');
    return answer;
  },
};

function headerOf(call: Call, name: string): string | undefined {
  const [value] = call.metadata.get(name);
  return typeof value === 'string' ? value : undefined;
}

function addLinks(call: Call, path: string, response: Readonly<Record<string, unknown>>): void {
  const { location, list } = call.operation.answer;
  if (location !== undefined) {
    const toValue = (field: string) => {
      if (response[field] === undefined) throw new Error(`the answer of ${call.operation.path} has no field ${field}`);
      return response[field];
    };
    call.responseHeaders.set('location', fillPath(location, toValue));
  }
  if (list === undefined) return;
  const { nextPageToken } = response;
  if (typeof nextPageToken === 'string' && nextPageToken !== '') {
    call.responseHeaders.set('link', `<${nextPage(path, nextPageToken)}>; rel="next"`);
  }
}

/** The address of the page after this one: the request's own, with another page token. */
function nextPage(path: string, token: string): string {
  const [pathname = '', query = ''] = path.split(/\?(.*)/s, 2);
  const kept = query.split('&').filter((parameter) => parameter !== '' && !parameter.startsWith('pageToken='));
  return `${pathname}?${[...kept, `pageToken=${token}`].join('&')}`;
}
