/** Whether a complete response is well-formed for its protocol, and no fault of the service. */
import { checkAgainstDescription } from '../contract/description.ts';

export type Protocol = 'HTTP/1.1' | 'REST' | 'gRPC' | 'gRPC-Web' | 'Connect';

export interface Answer {
  readonly status: number;
  readonly headers: Headers;
  readonly body: Buffer;
}

const OUR_FAULTS = [2, 13, 15]; // UNKNOWN, INTERNAL, DATA_LOSS
/** INTERNAL that is the caller's fault (gRPC's compression.md). */
const WRONG_FLAGS = /message%20has%20flags/;
const UNAVAILABLE = 14;

/**
 * What is wrong with it; undefined when nothing is. `mayShed`: the service may be too busy, or replaced, so that it
 * sheds requests.
 */
export function faultOf(protocol: Protocol, method: string, answer: Answer, mayShed: boolean): string | undefined {
  const { status, headers, body } = answer;
  const length = headers.get('content-length');
  if (length !== null && method !== 'HEAD' && Number(length) !== body.length) {
    return `${body.length} bytes with Content-Length ${length}`;
  }
  const mayBe = [...(protocol === 'Connect' ? [501] : []), ...(mayShed ? [503, 504] : [])];
  if (status >= 500 && !mayBe.includes(status)) return `it is a ${status}: ${body}`;
  if (status >= 400 && !headers.has('x-request-id')) return `a ${status} without an x-request-id: ${body}`;
  try {
    if (protocol === 'gRPC') return faultOfGrpc(answer, mayShed);
    // A gRPC-Web client takes these for UNIMPLEMENTED and UNAVAILABLE.
    if (protocol === 'gRPC-Web') return [404, 429, 503].includes(status) ? undefined : faultOfGrpc(answer, mayShed);
    if (protocol === 'Connect') return method === 'HEAD' ? undefined : faultOfConnect(answer);
    const text = body.toString();
    checkAgainstDescription(method, '', { status, headers, text });
    if (headers.get('content-type') === 'application/json' && text !== '') JSON.parse(text);
    return undefined;
  } catch (error) {
    return (error as Error).message;
  }
}

/** The number of messages, and the text of gRPC-Web's trailers. Undefined when the last frame is not complete. */
function framesOf(body: Buffer) {
  let [messages, trailers] = [0, ''];
  for (let at = 0; at < body.length; ) {
    if (at + 5 > body.length || trailers !== '') return undefined;
    const end = at + 5 + body.readUInt32BE(at + 1);
    if (end > body.length) return undefined;
    if ((body[at] ?? 0) & 0x80) trailers = body.toString('latin1', at + 5, end);
    else messages += 1;
    at = end;
  }
  return { messages, trailers };
}

function faultOfGrpc({ status, headers, body }: Answer, mayShed: boolean): string | undefined {
  if (status !== 200) return `the HTTP status is ${status}`;
  const frames = framesOf(body);
  if (frames === undefined) return 'a message is cut off';
  const code = statusOfGrpc({ headers, body });
  if (code === undefined) return 'there is no grpc-status';
  const message = headers.get('grpc-message') ?? /grpc-message: ?(.*)/.exec(frames.trailers)?.[1] ?? '';
  const isOurFault = OUR_FAULTS.includes(code) && !WRONG_FLAGS.test(message);
  if (isOurFault || (code === UNAVAILABLE && !mayShed)) return `grpc-status ${code}: ${message}`;
  if (code !== 0 && message === '') return `grpc-status ${code} says nothing`;
  return code === 0 && frames.messages === 0 ? 'OK without a message' : undefined;
}

export function statusOfGrpc({ headers, body }: Pick<Answer, 'headers' | 'body'>): number | undefined {
  const code = headers.get('grpc-status') ?? /grpc-status: ?(\d+)/.exec(framesOf(body)?.trailers ?? '')?.[1];
  return code === undefined ? undefined : Number(code);
}

function faultOfConnect({ status, headers, body }: Answer): string | undefined {
  const type = headers.get('content-type');
  if (status === 200) return type === 'application/proto' ? undefined : `a success is ${type}`;
  if (type !== 'application/json') return `an error is ${type}: ${body}`;
  const { code, message } = JSON.parse(body.toString());
  return typeof code === 'string' && typeof message === 'string' ? undefined : `an error is ${body}`;
}
