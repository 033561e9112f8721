/**
 * Responses over REST: the status of the operation, JSON, Location, Link to the next page (RFC 8288), or 304 Not
 * Modified (RFC 9110, section 13.1.2). Each operation's response is compiled once, at start: what can't be compiled,
 * such as a field of a type that JSON is not written for yet, fails there and not after a commit.
 *
 * Envoy's transcoder passes a response that is not gRPC through unchanged. So the server sends the final response.
 */
import type { HttpBody } from '../../../../gen/google/api/httpbody.ts';
import { EDGE_HEADERS, isHead, ORIGINAL_PATH } from '../../edge-headers.ts';
import type { ApiError } from '../../errors.ts';
import type { Operation } from '../../proto/operations.ts';
import { compilePath } from '../../proto/paths.ts';
import { addLink, type Call, type HttpResponse, type Protocol, type UnaryResponse } from '../../rpc/chain.ts';
import { errorHeaders } from '../../rpc/errors.ts';
import { GRPC } from '../grpc/grpc.ts';
import { eventStream } from './event-stream.ts';
import { jsonArrayWriter, jsonWriter } from './json.ts';
import { parameterName } from './requests.ts';

const NOTHING = Buffer.alloc(0);
const NOT_MODIFIED: HttpResponse = { status: 304, headers: {}, body: '' };

type Render = (call: Call, response: UnaryResponse) => HttpResponse;

/** Compiles the responses of those `operations` that have a REST route. */
export function restProtocol(operations: Iterable<Operation>): Protocol {
  const withRoutes = [...operations].filter(({ routes, isStream }) => routes.length > 0 && !isStream);
  const renderers = new Map(withRoutes.map((operation) => [operation, compile(operation)]));
  const ofEvents = [...operations].filter(({ isEventStream }) => isEventStream);
  const writers = new Map(ofEvents.map((operation) => [operation, eventStream(operation.output)]));
  return {
    name: 'REST',
    open: GRPC.open,
    render(call, response) {
      const render = renderers.get(call.operation);
      if (render === undefined) throw new Error(`${call.operation.path} is not part of REST`);
      return render(call, response);
    },
    renderError: restError,
    begin(call, first, encode) {
      const { contentType = '' } = (first ?? {}) as Partial<HttpBody>;
      const file = () => ({ status: 200, headers: typed(contentType), body: first ? encode(first) : NOTHING });
      const start = writers.get(call.operation)?.begin(first) ?? file();
      return isHead(call) ? { ...start, body: NOTHING, isAll: true } : start;
    },
    piece: ({ operation }, message) => writers.get(operation)?.piece(message) ?? ((message as HttpBody).data as Buffer),
  };
}

function compile({ output, isRaw, response: { status, location, list, next } }: Operation): Render {
  if (isRaw) {
    return (call, { message }) => {
      const { contentType, data } = message as HttpBody;
      return withBody(call, status, contentType, Buffer.from(data));
    };
  }
  if (status === 204) return () => ({ status, headers: {}, body: '' });
  const write = list === undefined ? jsonWriter(output) : jsonArrayWriter(list);
  const toLocation = location === undefined ? undefined : compilePath(location, output);
  return (call, { message, isUnmodified }) => {
    const fields = message as Readonly<Record<string, unknown>>;
    if (toLocation !== undefined) call.responseHeaders.set('location', toLocation(message));
    const following = next && fields[next.field.localName];
    if (next !== undefined && following) addNextPage(call, next.parameter, String(following));
    const written = list === undefined ? message : fields[list.localName];
    return isUnmodified ? NOT_MODIFIED : withBody(call, status, 'application/json', write(written));
  };
}

/** Adds a link to the next page: the path of this request, with another value of the parameter. */
function addNextPage(call: Call, name: string, value: string): void {
  const [pathname = '', query = ''] = (call.header(ORIGINAL_PATH) ?? '').split(/\?(.*)/s, 2);
  const kept = query.split('&').filter((parameter) => parameter !== '' && parameterName(parameter) !== name);
  addLink(call.responseHeaders, `<${pathname}?${[...kept, `${name}=${value}`].join('&')}>; rel="next"`);
}

/** The error as a response, for REST and for what Envoy asks on behalf of REST callers. */
export function restError(call: Call, error: ApiError): HttpResponse {
  return withError(call, error, error.httpStatus, restBody(error));
}

/** A response with this body, and the headers of the error. */
export function withError(call: Call, error: ApiError, status: number, body: string): HttpResponse {
  const response = withBody(call, status, 'application/json', body);
  return { ...response, headers: { ...errorHeaders(error), ...response.headers } };
}

/** `{code, message, status}` */
export function restBody({ code, message, httpStatus }: ApiError): string {
  return JSON.stringify({ code, message, status: httpStatus });
}

/** A response with this body. For HEAD the body is left out, and a header tells Envoy's filter its length. */
export function withBody(call: Call, status: number, type: string, body: string | Buffer): HttpResponse {
  const length = String(Buffer.byteLength(body));
  if (isHead(call)) return { status, headers: { ...typed(type), [EDGE_HEADERS.length]: length }, body: '' };
  return { status, headers: { ...typed(type), 'content-length': length }, body };
}

function typed(contentType: string): Readonly<Record<string, string>> {
  return contentType === '' ? {} : { 'content-type': contentType };
}
