/** Announces a deprecated operation: Deprecation (RFC 9745), Sunset (RFC 8594), Link to the successor (RFC 8288). */
import { compilePath, type Operation } from '../../proto/operations.ts';
import type { Call, Interceptor } from '../chain.ts';

/** Compiles the announcements of the deprecated ones among `operations`. */
export function deprecation(operations: Iterable<Operation>): Interceptor {
  const announcements = new Map([...operations].flatMap(toAnnouncement));
  return (call, next) => {
    announcements.get(call.operation)?.(call);
    return next(call);
  };
}

function toAnnouncement(operation: Operation): [Operation, (call: Call) => void][] {
  if (operation.deprecation === undefined) return [];
  const { since, sunset, successor } = operation.deprecation;
  const [sinceText, sunsetText] = [`@${Math.floor(since.getTime() / 1_000)}`, sunset.toUTCString()];
  const fillIn = compilePath(successor, operation.input);
  const announce = ({ request, responseHeaders }: Call) => {
    responseHeaders.set('deprecation', sinceText);
    responseHeaders.set('sunset', sunsetText);
    addLink(responseHeaders, `<${fillIn(request)}>; rel="successor-version"`);
  };
  return [[operation, announce]];
}

/** Adds a link to a response, behind those that it has (RFC 8288, section 3). */
export function addLink(responseHeaders: Map<string, string>, link: string): void {
  const others = responseHeaders.get('link');
  responseHeaders.set('link', others === undefined ? link : `${others}, ${link}`);
}
