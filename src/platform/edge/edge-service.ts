/**
 * EdgeService: the errors for requests that Envoy has refused itself. The interceptors have checked the key and the
 * limits by then. What is left is to find out what was wrong, from the routes in the proto files and Envoy's message.
 */
import type { DescField } from '@bufbuild/protobuf';
import { status as Status } from '@grpc/grpc-js';
import type { EdgeServiceServer, RefuseRequest } from '../../../gen/apiplatform/edge/v1/edge.ts';
import { MAX_JSON_DEPTH } from '../config/constants.ts';
import { type ApiError, apiError, errorSaying, invalidArgument, notAllowed, short } from '../errors.ts';
import { fieldAt, wrappedList } from '../proto/fields.ts';
import { API_PREFIX, type Operation, type RestRoute } from '../proto/operations.ts';
import { checkContentType, checkParameters, problemOf } from '../protocols/rest/requests.ts';
import type { Service } from '../rpc/methods.ts';

/** How much of a wrong value an error quotes, in bytes of a header. */
const MAX_VALUE = 80;

export function edgeService(operations: Iterable<Operation>): Service<EdgeServiceServer, unknown> {
  const routes = [...operations].flatMap((operation) => operation.routes.map((route) => ({ ...route, operation })));
  return {
    judge: async () => ({}), // the interceptors have judged the caller already
    async refuse(request) {
      throw (REFUSALS[request.status] ?? badRequest)(request, routes);
    },
    async fail({ status }) {
      throw apiError(status === 504 ? 'DEADLINE_EXCEEDED' : 'UNAVAILABLE');
    },
  };
}

/** The errors by the status that a filter or Envoy has chosen. All others are of a bad request. */
const REFUSALS: Readonly<Record<number, (request: RefuseRequest) => ApiError>> = {
  403: () => apiError('PERMISSION_DENIED'),
  405: (request) => notAllowed({ ...request, path: pathOf(request) }, 'POST', OF_HTTP), // only connect.lua says so
  408: () => apiError('REQUEST_TIMEOUT'),
  413: () => apiError('BODY_TOO_LARGE'),
  415: (request) =>
    request.path.startsWith(API_PREFIX)
      ? errorSaying('UNSUPPORTED_CONTENT_TYPE', SUPPORTED, NO_CALL)
      : apiError('UNSUPPORTED_CONTENT_ENCODING', { coding: Buffer.from(request.reply).toString() }),
  501: () => errorSaying('UNSUPPORTED_CONTENT_TYPE', SUPPORTED, NOT_SUPPORTED),
};

function pathOf({ path }: RefuseRequest): string {
  return path.split('?', 1).join();
}

/** The code with which clients of Connect take a status of HTTP. */
const OF_HTTP = { grpcStatus: Status.UNKNOWN };
/** For what is no call, on the path of a method; and for the parts of Connect that this service does not support. */
const ACCEPT_POST = 'application/grpc, application/grpc-web, application/proto';
const NO_CALL = { ...OF_HTTP, httpStatus: 415, headers: { 'accept-post': ACCEPT_POST } };
const NOT_SUPPORTED = { grpcStatus: Status.UNIMPLEMENTED };
const SUPPORTED =
  'calls over the Connect protocol are unary and in Protobuf here: send "Content-Type: application/proto", ' +
  '"Connect-Protocol-Version: 1" and no Content-Encoding';

type Route = RestRoute & { readonly operation: Operation };

function badRequest(request: RefuseRequest, routes: readonly Route[]): ApiError {
  const { method, path, reply, contentType } = request;
  const pathname = pathOf(request);
  const onPath = routes.filter(({ pattern }) => pattern.test(pathname));
  if (onPath.length === 0) return apiError('ROUTE_NOT_FOUND', { method, path: pathname });
  const route = onPath.find((candidate) => candidate.method === method || candidate.method === '*');
  if (route === undefined) {
    const methods = onPath.map((candidate) => candidate.method);
    return notAllowed({ method, path: pathname }, methods.toSorted().join(', '));
  }
  checkContentType(contentType);
  checkParameters(path, route.operation);
  // Envoy has no message for HEAD, which has no body either.
  if (method === 'HEAD') return errorSaying('INVALID_ARGUMENT', 'a value in the path or the query is invalid');
  return wrongBody(Buffer.from(reply).toString(), route.operation);
}

/** What json.lua says of a body that can't be read, and at which byte. */
const UNREADABLE: ReadonlyMap<string, (at: string) => string> = new Map([
  ['JSON', (at) => `it is not JSON at byte ${at}`],
  ['DEPTH', (at) => `its lists and objects are more than ${MAX_JSON_DEPTH} deep at byte ${at}`],
  ['UTF8', (at) => `it is not UTF-8 at byte ${at}`],
  ['MARK', () => 'it begins with a byte order mark: send it without'],
]);

/** The types of wrong values that json.lua knows, and what it says of them alone. Others are the transcoder's. */
const BY_LUA: ReadonlyMap<string, string> = new Map([
  ...['ITEM', 'LIST', 'RANGE'].map((type) => [type, ''] as const),
  ['TWICE', 'is given more than once'],
  ['HALF', 'has half of a surrogate pair, which is no character'],
  ['FINE', 'has more than nine digits of a second'],
]);

/**
 * Words what json.lua or the transcoder has found: a body that can't be read (`unreadable JSON at 17`), or a wrong
 * value, which both tell in one form (`thing.color_id: invalid value "x" for type TYPE_INT64`). No words of theirs are
 * passed on.
 */
function wrongBody(text: string, operation: Operation): ApiError {
  const [, what = '', at = ''] = /^unreadable (\w+) at (\d+)$/.exec(text) ?? [];
  const unreadable = UNREADABLE.get(what);
  if (unreadable !== undefined) return apiError('MALFORMED_BODY', { detail: unreadable(at) });
  const [, path, finding = ''] = /^([\w.[\]]*): (.*)$/s.exec(text) ?? [];
  if (path === undefined) return apiError('MALFORMED_BODY', { detail: 'it is not what this operation reads' });
  // The end of a long value, and with it the type, may be missing.
  const [, value, type = ''] = /^invalid value (.*?)(?: for type (\S+))?$/s.exec(finding) ?? [];
  // The index of an item is that of json.lua. The transcoder counts only those items that it refuses.
  const { field, name } = fieldAt(operation, BY_LUA.has(type) ? path : path.replace(/\[\d+\]$/, ''));
  const whole = type === 'TWICE' ? (value ?? '') : 'body'; // json.lua has no path of a member that is no field
  const isWhole = path === '' || path === operation.bodyField;
  const description = describeValue(value, type, field, operation.queryParameters.has(name));
  return invalidArgument([{ path, name: isWhole ? whole : name, description }]);
}

/** Says what a wrong value should be. */
function describeValue(value: string | undefined, type: string, field: DescField | undefined, isInQuery: boolean) {
  const own = BY_LUA.get(type);
  if (own !== undefined && type === 'TWICE') return own; // the value is the name
  if (value === undefined || field === undefined) return 'has a value of another type';
  if (value.startsWith("Field '")) return problemOf('', type, field); // the transcoder has no value
  const separated = isInQuery && field.fieldKind === 'list' && /^"(.*?),/.exec(value);
  const advice = separated ? `: repeat the name for each, ${field.jsonName}=${separated[1]}&${field.jsonName}=…` : '';
  const problem = own || problemOf(value, type, wrappedList(field) ?? field);
  return `${short(value, MAX_VALUE)} ${problem}${advice}`;
}
