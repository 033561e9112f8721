/** Checks what the transcoder does not check of a REST request. A stream of events begins where its caller says. */
import { EDGE_HEADERS, ORIGINAL_PATH } from '../edge-headers.ts';
import { lastEventId } from '../protocols/rest/event-stream.ts';
import { checkContentType, checkParameters } from '../protocols/rest/requests.ts';
import { check } from '../rpc/chain.ts';

const after = { permission: 'the caller is judged first', host: 'the Host is the first thing of a request' };

export const rest = check({ name: 'rest', leaves: ['resumeAfter'], after }, (call) => {
  if (call.protocol.name !== 'REST') return;
  checkContentType(call.header(EDGE_HEADERS.bodyType)?.slice(1));
  checkParameters(call.header(ORIGINAL_PATH) ?? '', call.operation);
  const lastId = call.operation.isEventStream ? lastEventId(call) : undefined;
  if (lastId !== undefined) call.resumeAfter = lastId;
});
