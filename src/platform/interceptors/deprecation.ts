/** Announces a deprecated operation: Deprecation (RFC 9745), Sunset (RFC 8594), Link to the successor (RFC 8288). */
import { addLink, check } from '../rpc/chain.ts';

const after = { etags: 'a malformed request was no use of the operation' };

export const deprecation = check({ name: 'deprecation', needs: ['request'], after }, (call) => {
  const { operation, responseHeaders } = call;
  if (operation.deprecation === undefined) return;
  const { headers, successorOf } = operation.deprecation;
  responseHeaders.set('deprecation', headers.deprecation);
  responseHeaders.set('sunset', headers.sunset);
  addLink(responseHeaders, `<${successorOf(call.request)}>; rel="successor-version"`);
});
