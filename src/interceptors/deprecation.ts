/** Announces a deprecated operation: Deprecation (RFC 9745), Sunset (RFC 8594), Link to the successor (RFC 8288). */
import { reflect } from '@bufbuild/protobuf/reflect';
import { type Deprecation, decodeRequest } from '../operations.ts';
import type { Call, Interceptor } from './chain.ts';

export const deprecation: Interceptor = {
  name: 'deprecation',
  after: { rest: 'a request that is refused for its form was no use of the operation' },
  intercept(call, next) {
    const { deprecation: announced } = call.operation;
    if (announced !== undefined) {
      const { since, sunset } = datesOf(announced);
      call.responseHeaders.set('deprecation', since);
      call.responseHeaders.set('sunset', sunset);
      call.responseHeaders.set('link', `<${fill(announced.successor, call)}>; rel="successor-version"`);
    }
    return next(call);
  },
};

interface Dates {
  readonly since: string;
  readonly sunset: string;
}

/** An operation's dates as headers: written once, not for every call. */
const written = new WeakMap<Deprecation, Dates>();

function datesOf(announced: Deprecation): Dates {
  let dates = written.get(announced);
  if (dates === undefined) {
    const { since, sunset } = announced;
    dates = { since: `@${Math.floor(since.getTime() / 1_000)}`, sunset: sunset.toUTCString() };
    written.set(announced, dates);
  }
  return dates;
}

/** Fills fields of the request message into their places in braces. */
function fill(template: string, { operation, requestBytes }: Call): string {
  const request = reflect(operation.input, decodeRequest(operation, requestBytes));
  return template.replace(/\{(\w+)\}/g, (place, name: string) => {
    const field = request.fields.find((candidate) => candidate.name === name);
    if (field === undefined) throw new Error(`${operation.path} has no field for ${place}`);
    return encodeURIComponent(String(request.get(field)));
  });
}
