/**
 * EdgeService: the errors for requests that Envoy has refused itself. The interceptors have checked the key and the
 * limits by then. What is left is to find out what was wrong, from the routes in the proto files and Envoy's message.
 */
import type { DescField } from '@bufbuild/protobuf';
import { status as Status } from '@grpc/grpc-js';
import type { EdgeServiceServer, RefuseRequest } from '../../../gen/apiplatform/edge/v1/edge.ts';
import { type ApiError, apiError, errorSaying, invalidArgument, notAllowed, short } from '../errors.ts';
import { fieldAt, wrappedList } from '../proto/fields.ts';
import type { Operation, RestRoute } from '../proto/operations.ts';
import type { Service } from '../rpc/service.ts';
import { checkContentType, checkParameters, problemOf } from './requests.ts';

/** How much of a wrong value an error quotes, in bytes of a header. */
const MAX_VALUE = 80;

export function edgeService(operations: Iterable<Operation>): Service<EdgeServiceServer, unknown> {
  const routes = [...operations].flatMap((operation) => operation.routes.map((route) => ({ ...route, operation })));
  return {
    judge: async () => ({}), // the interceptors have judged the caller already
    async refuse(request) {
      if (request.status === 403) throw apiError('PERMISSION_DENIED');
      if (request.status === 413) throw apiError('BODY_TOO_LARGE');
      if (request.status === 408) throw apiError('REQUEST_TIMEOUT');
      if (request.status === 405) throw notAllowed(request, 'POST', OF_HTTP);
      if (request.status === 415) throw errorSaying('UNSUPPORTED_CONTENT_TYPE', SUPPORTED, NO_CALL);
      if (request.status === 501) throw errorSaying('UNSUPPORTED_CONTENT_TYPE', SUPPORTED, NOT_SUPPORTED);
      throw badRequest(request, routes);
    },
    async fail({ status }) {
      throw apiError(status === 504 ? 'DEADLINE_EXCEEDED' : 'UNAVAILABLE');
    },
  };
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

function badRequest({ method, path, reply, contentType }: RefuseRequest, routes: readonly Route[]): ApiError {
  const [pathname = ''] = path.split('?', 1);
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

/**
 * Words what json.lua or the transcoder has found: where text is no JSON (`JSON ends at 17`), or a wrong value, which
 * both tell in one form (`thing.color_id: invalid value "x" for type TYPE_INT64`). No words of theirs are passed on.
 */
function wrongBody(text: string, operation: Operation): ApiError {
  const [, end, encoded = ''] = /^JSON ends at (\d+)(, encoded)?$/.exec(text) ?? [];
  const advice = encoded && ': send it without a Content-Encoding';
  if (end !== undefined) return apiError('MALFORMED_BODY', { detail: `it is not JSON at byte ${end}${advice}` });
  const [, path, finding = ''] = /^([\w.[\]]*): (.*)$/s.exec(text) ?? [];
  if (path === undefined) return apiError('MALFORMED_BODY', { detail: 'it is not JSON' });
  // The end of a long value, and with it the type, may be missing.
  const [, value, type = ''] = /^invalid value (.*?)(?: for type (\S+))?$/s.exec(finding) ?? [];
  // The index of an item is that of json.lua. The transcoder counts only those items that it refuses.
  const { field, name } = fieldAt(operation, BY_LUA.has(type) ? path : path.replace(/\[\d+\]$/, ''));
  const whole = type === 'TWICE' ? (value ?? '') : 'body'; // json.lua has no path of a member that is no field
  const isWhole = path === '' || path === operation.bodyField;
  const description = describeValue(value, type, field, operation.queryParameters.has(name));
  return invalidArgument([{ path, name: isWhole ? whole : name, description }]);
}

/** The types of values that json.lua refuses; others are the transcoder's. */
const BY_LUA = new Set(['ITEM', 'LIST', 'RANGE', 'TWICE']);

/** Says what a wrong value should be. */
function describeValue(value: string | undefined, type: string, field: DescField | undefined, isInQuery: boolean) {
  if (type === 'TWICE') return 'is given more than once';
  if (value === undefined || field === undefined) return 'has a value of another type';
  if (value.startsWith("Field '")) return problemOf('', type, field); // the transcoder has no value
  const separated = isInQuery && field.fieldKind === 'list' && /^"(.*?),/.exec(value);
  const advice = separated ? `: repeat the name for each, ${field.jsonName}=${separated[1]}&${field.jsonName}=…` : '';
  return `${short(value, MAX_VALUE)} ${problemOf(value, type, wrappedList(field) ?? field)}${advice}`;
}
