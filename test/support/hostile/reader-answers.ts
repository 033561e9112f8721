/** Whether a complete response is well-formed for its protocol. */
import { checkPromises } from '../contract.ts';
import type { Plan } from './reader-plans.ts';

export interface Answer {
  readonly status: number;
  readonly headers: Headers;
  readonly trailers: Headers;
  readonly body: Buffer;
}

/** UNKNOWN, INTERNAL, DATA_LOSS. */
const OUR_FAULTS = ['2', '13', '15'];

/** A gRPC-Web client takes these for UNIMPLEMENTED and UNAVAILABLE. */
const IN_HTTP = [404, 429, 503];

/** What is wrong with it; undefined when nothing is. */
export function faultOf({ protocol, method }: Plan, answer: Answer): string | undefined {
  const { status, headers, body } = answer;
  const length = headers.get('content-length');
  if (length !== null && Number(length) !== body.length) return `${body.length} bytes with Content-Length ${length}`;
  if (status === 500 || status === 502) return `it is a ${status}: ${body}`;
  switch (protocol) {
    case 'gRPC':
      return faultOfGrpc(answer, framesOf(body));
    case 'gRPC-Web':
      return IN_HTTP.includes(status) ? undefined : faultOfGrpcWeb(answer);
    case 'Connect':
      return faultOfConnect(answer);
    default:
      return faultOfRest(method, answer);
  }
}

interface Frames {
  readonly messages: readonly Buffer[];
  /** The text of gRPC-Web's trailers. */
  readonly trailers: string | undefined;
}

/** Undefined when the last frame is not complete. */
function framesOf(body: Buffer): Frames | undefined {
  const messages: Buffer[] = [];
  let trailers: string | undefined;
  for (let at = 0; at < body.length; ) {
    if (at + 5 > body.length) return undefined;
    const end = at + 5 + body.readUInt32BE(at + 1);
    if (end > body.length || trailers !== undefined) return undefined;
    const content = body.subarray(at + 5, end);
    if ((body[at] ?? 0) & 0x80) trailers = content.toString('latin1');
    else messages.push(content);
    at = end;
  }
  return { messages, trailers };
}

function faultOfGrpc({ status, headers, trailers }: Answer, frames: Frames | undefined): string | undefined {
  if (status !== 200) return `the HTTP status is ${status}`;
  if (frames === undefined) return 'a message is cut off';
  const code = trailers.get('grpc-status') ?? headers.get('grpc-status');
  if (code === null) return 'there is no grpc-status';
  if (OUR_FAULTS.includes(code)) return `grpc-status ${code}: ${trailers.get('grpc-message')}`;
  return code === '0' && frames.messages.length === 0 ? 'OK without a message' : undefined;
}

function faultOfGrpcWeb(answer: Answer): string | undefined {
  const frames = framesOf(answer.body);
  const lines = (frames?.trailers ?? '').split('\r\n').filter((line) => line.includes(':'));
  const pairs = lines.map((line): [string, string] => {
    const at = line.indexOf(':');
    return [line.slice(0, at), line.slice(at + 1)];
  });
  return faultOfGrpc({ ...answer, trailers: new Headers(pairs) }, frames);
}

function faultOfConnect({ status, headers, body }: Answer): string | undefined {
  const type = headers.get('content-type');
  if (status === 200) return type === 'application/proto' ? undefined : `a success is ${type}`;
  if (type !== 'application/json') return `an error is ${type}: ${body}`;
  const { code, message } = JSON.parse(body.toString());
  return typeof code === 'string' && typeof message === 'string' ? undefined : `an error is ${body}`;
}

function faultOfRest(method: string, { status, headers, body }: Answer): string | undefined {
  const text = body.toString();
  checkPromises(method, status, headers, text);
  if (headers.get('content-type') === 'application/json') JSON.parse(text);
  return undefined;
}
