/**
 * EdgeService: the errors for requests that Envoy has refused itself, once the interceptors have checked the key and
 * the limits. What was wrong is found by the routes in the proto files and json.lua's finding.
 */
import type { DescField } from '@bufbuild/protobuf';
import { status as Status } from '@grpc/grpc-js';
import { type EdgeServiceServer, Finding, type RefuseRequest } from '../../../gen/apiplatform/edge/v1/edge.ts';
import { MAX_FRAMES, MAX_JSON_DEPTH } from '../config/constants.ts';
import { type ApiError, apiError, errorSaying, invalidArgument, notAllowed, short } from '../errors.ts';
import { fieldAt, wrappedList } from '../proto/fields.ts';
import { API_PREFIX, type Operation, type RestRoute } from '../proto/operations.ts';
import { compareAsEnvoy } from '../proto/paths.ts';
import { checkContentType, checkParameters, OUT_OF_RANGE, problemOf } from '../protocols/rest/requests.ts';
import type { Service } from '../rpc/methods.ts';

export function edgeService(operations: Iterable<Operation>): Service<EdgeServiceServer, unknown> {
  const routes = [...operations].flatMap((operation) => operation.routes.map((route) => ({ ...route, operation })));
  routes.sort(compareAsEnvoy);
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
const REFUSALS: Readonly<Record<number, (request: RefuseRequest, routes: readonly Route[]) => ApiError>> = {
  403: () => apiError('PERMISSION_DENIED'),
  405: (request) => notAllowed({ ...request, path: pathOf(request) }, 'POST', OF_HTTP), // only connect.lua says so
  408: () => apiError('REQUEST_TIMEOUT'),
  413: () => apiError('BODY_TOO_LARGE'),
  415: (request) =>
    request.path.startsWith(API_PREFIX)
      ? errorSaying('UNSUPPORTED_CONTENT_TYPE', SUPPORTED, NO_CALL)
      : apiError('UNSUPPORTED_CONTENT_ENCODING', { coding: Buffer.from(request.reply).toString() }),
  422: (request, routes) => {
    if (!request.path.startsWith(API_PREFIX)) operationOf(request, routes); // of a call, caller.lua has found these
    return apiError('MALFORMED_BODY', { detail: `it has ${MAX_FRAMES} frames` });
  },
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

/** What a REST request calls. Throws for a wrong path, method, content type or parameter. */
function operationOf(request: RefuseRequest, routes: readonly Route[]): Operation {
  const { method, path, contentType } = request;
  const pathname = pathOf(request);
  const onPath = routes.filter(({ pattern }) => pattern.test(pathname));
  if (onPath.length === 0) throw apiError('ROUTE_NOT_FOUND', { method, path: pathname });
  const route = onPath.find((candidate) => candidate.method === method || candidate.method === '*');
  if (route === undefined) {
    const methods = onPath.map((candidate) => candidate.method);
    throw notAllowed({ method, path: pathname }, methods.toSorted().join(', '));
  }
  checkContentType(contentType);
  checkParameters(path, route.operation);
  return route.operation;
}

function badRequest(request: RefuseRequest, routes: readonly Route[]): ApiError {
  const operation = operationOf(request, routes);
  return request.finding > Finding.FINDING_UNSPECIFIED
    ? found(request.finding as BodyFinding, request, operation)
    : errorSaying('INVALID_ARGUMENT', NOT_READ);
}

/** What the transcoder alone finds, such as two fields of a oneof. No words of it are passed on. */
const NOT_READ = 'a value in the path, the query or the body is not what this operation reads';

type BodyFinding = Exclude<Finding, typeof Finding.FINDING_UNSPECIFIED>;

/** What a body is that json.lua can't read, by the byte at which it stops; or what is wrong with a value. */
const FOUND: Readonly<Record<BodyFinding, { body(at: string): string } | { value(field: DescField): string }>> = {
  [Finding.FINDING_NO_JSON]: { body: (at) => `it is not JSON at byte ${at}` },
  [Finding.FINDING_TOO_DEEP]: {
    body: (at) => `its lists and objects are more than ${MAX_JSON_DEPTH} deep at byte ${at}`,
  },
  [Finding.FINDING_NO_UTF8]: { body: (at) => `it is not UTF-8 at byte ${at}` },
  [Finding.FINDING_BYTE_ORDER_MARK]: { body: () => 'it begins with a byte order mark: send it without' },
  [Finding.FINDING_OTHER_TYPE]: { value: (field) => problemOf(wrappedList(field) ?? field) },
  [Finding.FINDING_NO_LIST]: { value: () => 'is not a list' },
  [Finding.FINDING_OUT_OF_RANGE]: { value: () => OUT_OF_RANGE },
  [Finding.FINDING_GIVEN_TWICE]: { value: () => GIVEN_TWICE },
  [Finding.FINDING_HALF_PAIR]: { value: () => 'has half of a surrogate pair, which is no character' },
  [Finding.FINDING_TOO_FINE]: { value: () => 'has more than nine digits of a second' },
};
const GIVEN_TWICE = 'is given more than once';

function found(finding: BodyFinding, { at, reply }: RefuseRequest, operation: Operation): ApiError {
  const words = FOUND[finding];
  if ('body' in words) return apiError('MALFORMED_BODY', { detail: words.body(at) });
  const value = Buffer.from(reply).toString();
  const { field, name } = fieldAt(operation, at);
  const isWhole = at === '' || at === operation.bodyField;
  if (finding === Finding.FINDING_GIVEN_TWICE) {
    // json.lua has no path of a member that is no field. The value is its name.
    return invalidArgument([{ path: at, name: isWhole ? value : name, description: GIVEN_TWICE }]);
  }
  const problem = field === undefined ? OTHER_TYPE : `${short(value)} ${words.value(field)}`;
  return invalidArgument([{ path: at, name: isWhole ? 'body' : name, description: problem }]);
}

const OTHER_TYPE = 'has a value of another type';
