/** Announces a deprecated operation: Deprecation (RFC 9745), Sunset (RFC 8594), Link to the successor (RFC 8288). */
import { reflect } from '@bufbuild/protobuf/reflect';
import { decodeRequest } from '../operations.ts';
import type { Call, Interceptor } from './chain.ts';

export const deprecation: Interceptor = {
  name: 'deprecation',
  after: { 'rest-request': 'a request that is refused for its form was no use of the operation' },
  intercept(call, next) {
    const { deprecation: announced } = call.operation;
    if (announced !== undefined) {
      call.responseHeaders.set('deprecation', `@${Math.floor(announced.since.getTime() / 1000)}`);
      call.responseHeaders.set('sunset', announced.sunset.toUTCString());
      call.responseHeaders.set('link', `<${fill(announced.successor, call)}>; rel="successor-version"`);
    }
    return next(call);
  },
};

/** Fills fields of the request message into their places in braces. */
function fill(template: string, { operation, requestBytes }: Call): string {
  const request = reflect(operation.input, decodeRequest(operation, requestBytes));
  return template.replace(/\{(\w+)\}/g, (place, name: string) => {
    const field = request.fields.find((candidate) => candidate.name === name);
    if (field === undefined) throw new Error(`${operation.path} has no field for ${place}`);
    return encodeURIComponent(String(request.get(field)));
  });
}
