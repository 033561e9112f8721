/** Announces a deprecated operation: Deprecation (RFC 9745), Sunset (RFC 8594), Link to the successor (RFC 8288). */
import type { Operation } from '../operations.ts';
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

/** Fills fields of the request message into their places in braces: `/pets?ids={pet_id}`. */
function filler(template: string, { path, input }: Operation): (call: Call) => string {
  const [start = '', ...rest] = template.split('{');
  const places = rest.map((text) => {
    const [name = '', after = ''] = text.split('}');
    const field = input.fields.find((candidate) => candidate.name === name);
    if (field === undefined) throw new Error(`${path} has no field for {${name}}`);
    return { property: field.localName, after };
  });
  return ({ request }) => {
    const values = request as Readonly<Record<string, unknown>>;
    return places.reduce(
      (text, { property, after }) => text + encodeURIComponent(String(values[property])) + after,
      start,
    );
  };
}
