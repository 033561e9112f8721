/** Announces a deprecated operation: Deprecation (RFC 9745), Sunset (RFC 8594), Link to the successor (RFC 8288). */
import type { Interceptor } from '../rpc/chain.ts';

export const deprecation: Interceptor = (call, next) => {
  const { operation, responseHeaders } = call;
  if (operation.deprecation !== undefined) {
    const { headers, successorOf } = operation.deprecation;
    responseHeaders.set('deprecation', headers.deprecation);
    responseHeaders.set('sunset', headers.sunset);
    addLink(responseHeaders, `<${successorOf(call.request)}>; rel="successor-version"`);
  }
  return next(call);
};

/** Adds a link to a response, behind those that it has (RFC 8288, section 3). */
export function addLink(responseHeaders: Map<string, string>, link: string): void {
  const others = responseHeaders.get('link');
  responseHeaders.set('link', others === undefined ? link : `${others}, ${link}`);
}
