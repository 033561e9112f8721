/** Announces a deprecated operation: Deprecation (RFC 9745), Sunset (RFC 8594), Link to the successor (RFC 8288). */
import { fillPath, type Operation } from '../proto/operations.ts';
import type { Call, Interceptor } from './chain.ts';

export const deprecation: Interceptor = {
  name: 'deprecation',
  after: { rest: 'a request that is refused for its form was no use of the operation' },
  intercept(call, next) {
    const announced = announcementOf(call.operation);
    if (announced !== undefined) {
      const { since, sunset, successor } = announced;
      call.responseHeaders.set('deprecation', since);
      call.responseHeaders.set('sunset', sunset);
      call.responseHeaders.set('link', `<${successor(call)}>; rel="successor-version"`);
    }
    return next(call);
  },
};

/** What the headers of an operation say. All but the successor's fields is written once, not for every call. */
interface Announcement {
  readonly since: string;
  readonly sunset: string;
  readonly successor: (call: Call) => string;
}

const announcements = new WeakMap<Operation, Announcement>();

function announcementOf(operation: Operation): Announcement | undefined {
  const { deprecation: announced } = operation;
  if (announced === undefined) return undefined;
  let announcement = announcements.get(operation);
  if (announcement === undefined) {
    const { since, sunset } = announced;
    announcement = {
      since: `@${Math.floor(since.getTime() / 1_000)}`,
      sunset: sunset.toUTCString(),
      successor: filler(announced.successor, operation),
    };
    announcements.set(operation, announcement);
  }
  return announcement;
}

/** Fills fields of the request message into the successor's path: `/pets?ids={pet_id}`. */
function filler(template: string, { path, input }: Operation): (call: Call) => string {
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
