/** Announces a deprecated operation: Deprecation (RFC 9745), Sunset (RFC 8594), Link to the successor (RFC 8288). */
import { fillPath, type Operation } from '../proto/operations.ts';
import type { Call, Interceptor } from './chain.ts';

export const deprecation: Interceptor = {
  name: 'deprecation',
  after: { rest: 'a request that is malformed was no use of the operation' },
  intercept(call, next) {
    const headers = deprecationHeadersOf(call.operation);
    if (headers !== undefined) {
      const { since, sunset, successor } = headers;
      call.responseHeaders.set('deprecation', since);
      call.responseHeaders.set('sunset', sunset);
      call.responseHeaders.set('link', `<${successor(call)}>; rel="successor-version"`);
    }
    return next(call);
  },
};

interface DeprecationHeaders {
  readonly since: string;
  readonly sunset: string;
  /** The path of the successor, for the request of this call. */
  readonly successor: (call: Call) => string;
}

/** Made once per operation: only the successor differs between calls. */
const cache = new WeakMap<Operation, DeprecationHeaders>();

function deprecationHeadersOf(operation: Operation): DeprecationHeaders | undefined {
  if (operation.deprecation === undefined) return undefined;
  let headers = cache.get(operation);
  if (headers === undefined) {
    const { since, sunset, successor } = operation.deprecation;
    headers = {
      since: `@${Math.floor(since.getTime() / 1_000)}`,
      sunset: sunset.toUTCString(),
      successor: pathTemplate(successor, operation),
    };
    cache.set(operation, headers);
  }
  return headers;
}

/** Fills fields of the request message into a path: `/pets?ids={pet_id}`. */
function pathTemplate(template: string, { path, input }: Operation): (call: Call) => string {
  const properties = new Map(input.fields.map(({ name, localName }) => [name, localName]));
  return ({ request }) => {
    const values = request as Readonly<Record<string, unknown>>;
    return fillPath(template, (field) => {
      const property = properties.get(field);
      if (property === undefined) throw new Error(`${path} has no field ${field}`);
      return values[property];
    });
  };
}
