/**
 * EdgeService: the errors for requests that Envoy has refused itself. The interceptors have checked the key and the
 * limits by then. What is left is to find out what was wrong, from the routes in the proto files and Envoy's message.
 */
import { type DescField, ScalarType } from '@bufbuild/protobuf';
import { status as Status } from '@grpc/grpc-js';
import type { EdgeServiceServer, RefuseRequest } from '../../gen/petstore/edge/v1/edge.ts';
import { type ApiError, apiError, errorSaying, invalidArgument, short } from '../errors.ts';
import { fieldAt, TIMESTAMP, wrappedList } from '../proto/fields.ts';
import type { Operation } from '../proto/operations.ts';
import type { Service } from '../rpc/service.ts';
import { checkContentType, checkQuery } from './rest.ts';

/** The method of a route that takes all methods: google.api.CustomHttpPattern's `kind`. */
const ANY_METHOD = '*';

/** How the transcoder's message begins when a field has a list or an object, and what we say. It names no field. */
const MISPLACED = [
  ['Proto field is not repeating', 'a field that is not a list has one'],
  ['invalid value Starting an object on a scalar field', 'a field that is not an object has one'],
] as const;

/** How much of a wrong value an error quotes. */
const MAX_VALUE = 60;

export function edgeService(operations: Iterable<Operation>): Service<EdgeServiceServer, unknown> {
  const routes = [...operations].flatMap(toMatchers);
  return {
    judge: async () => ({}), // the interceptors have judged the caller already
    async refuse(request) {
      if (request.status === 413) throw apiError('BODY_TOO_LARGE');
      if (request.status === 408) throw apiError('REQUEST_TIMEOUT');
      if (request.status === 415) throw unsupportedConnect();
      throw badRequest(request, routes);
    },
    async fail({ status }) {
      throw apiError(status === 504 ? 'DEADLINE_EXCEEDED' : 'UNAVAILABLE');
    },
  };
}

/** For the parts of the Connect protocol that this service does not support. */
function unsupportedConnect(): ApiError {
  const message =
    'calls over the Connect protocol are unary and in Protobuf here: send "Content-Type: application/proto", ' +
    '"Connect-Protocol-Version: 1" and no Content-Encoding';
  return errorSaying('UNSUPPORTED_CONTENT_TYPE', message, { grpcStatus: Status.UNIMPLEMENTED });
}

interface RouteMatcher {
  readonly method: string;
  readonly pattern: RegExp;
  readonly operation: Operation;
}

/** `{pet_id}` matches one segment of the path, `{file=docs}` matches `docs`. */
function toMatchers(operation: Operation): RouteMatcher[] {
  return operation.routes.map(({ method, template }) => {
    const path = template
      .replaceAll('.', '\\.')
      .replace(/\{\w+=([^}]*)\}/g, '$1')
      .replace(/\{\w+\}/g, '[^/]+');
    return { method, pattern: new RegExp(`^${path}/?$`), operation };
  });
}

function badRequest({ method, path, reply, contentType }: RefuseRequest, routes: readonly RouteMatcher[]): ApiError {
  const [pathname = ''] = path.split('?', 1);
  const onPath = routes.filter(({ pattern }) => pattern.test(pathname));
  if (onPath.length === 0) return apiError('ROUTE_NOT_FOUND', { method, path: pathname });
  const route = onPath.find((candidate) => candidate.method === method || candidate.method === ANY_METHOD);
  if (route === undefined) {
    const methods = onPath.map((candidate) => candidate.method);
    const allow = methods.toSorted().join(', ');
    return apiError('METHOD_NOT_ALLOWED', { method, path: pathname, allow }, { headers: { allow } });
  }
  checkContentType(contentType);
  checkQuery(path, route.operation);
  // Envoy has no message for HEAD, which has no body either.
  if (method === 'HEAD') return errorSaying('INVALID_ARGUMENT', 'a value in the path or the query is invalid');
  return transcoderError(reply, route.operation);
}

/**
 * Converts a message of the transcoder. Only its form tells a wrong value (`pet.category_id: invalid value "x" for type
 * TYPE_INT64`) from malformed JSON (`Closing quote expected in string.`).
 */
function transcoderError(text: string, operation: Operation): ApiError {
  const [, path, description] = /^([\w.[\]]*): (.*)$/s.exec(text) ?? [];
  if (path === undefined || description === undefined) {
    const [detail = ''] = text.split('\n', 1);
    return apiError('MALFORMED_BODY', { detail: detail === '' ? 'it is not JSON' : detail });
  }
  // The index of an item is that of lists.lua. The transcoder counts only those items that it refuses.
  const counted = description.endsWith(' for type ITEM') ? path : path.replace(/\[\d+\]$/, '');
  const { field, name } = fieldAt(operation, counted);
  const isBody = path === '' || path === operation.bodyField;
  const isInQuery = operation.queryParameters.has(name);
  const said = field === undefined ? description : describeValue(description, field, isInQuery);
  const misplaced = MISPLACED.find(([start]) => description.startsWith(start))?.[1];
  return invalidArgument([{ path, name: isBody ? 'body' : name, description: misplaced ?? said }]);
}

/** Says what a wrong value should be. The end of a long one, and with it the type, may be missing. */
function describeValue(description: string, field: DescField, isInQuery: boolean): string {
  const [, illegal] = /^invalid value Field '\w+', ([^;]*)/.exec(description) ?? [];
  const [, value, type = ''] = /^invalid value (.*?)(?: for type (\S+))?$/s.exec(description) ?? [];
  if (illegal !== undefined || value === undefined) return illegal ?? description;
  const separated = isInQuery && field.fieldKind === 'list' && /^"(.*?),/.exec(value);
  const advice = separated ? `: repeat the name for each, ${field.jsonName}=${separated[1]}&${field.jsonName}=…` : '';
  const problem = type === 'LIST' ? 'is not a list' : problemOf(value, wrappedList(field) ?? field); // by lists.lua
  return `${short(value, MAX_VALUE)} ${problem}${advice}`;
}

function problemOf(value: string, field: DescField): string {
  if (field.enum) {
    return `is none of ${field.enum.values.flatMap(({ name, number }) => (number === 0 ? [] : [name])).join(', ')}`;
  }
  if (field.message) return field.message.typeName === TIMESTAMP ? 'is not a timestamp' : 'is not an object';
  if (field.scalar === ScalarType.STRING) return 'is not a string';
  if (field.scalar === ScalarType.BOOL) return 'is neither true nor false';
  return /^"?-?\d+"?$/.test(value) ? 'is out of range' : 'is not a whole number';
}
