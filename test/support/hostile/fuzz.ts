/** Sends the inputs of fuzz-inputs.ts and checks each response: no 5xx, and errors of the contract's form. */
import { type ClientHttp2Session, constants } from 'node:http2';
import type { TestStack } from '../stack.ts';
import { type Answer, Findings, faultOf, statusOfGrpc } from './answers.ts';
import { type FuzzInput, fuzzInput, KEY } from './fuzz-inputs.ts';
import { Http1Connection } from './http1-connection.ts';
import { exchange } from './http2.ts';
import { type Pids, pidsOf, rssBytes } from './resources.ts';
import { openSession, type Target, targetOf } from './sockets.ts';

const WORKERS = 24;
/** After so many inputs caches are full and code is compiled. */
const WARM_SHARE = 0.3;
/** Changed bytes may no longer be a request, and then there may be no response. */
const SILENCE_MS = 300;
const GIVE_UP_MS = 20_000;
const DEADLINE_EXCEEDED = 4;

/** Resolves with outcomes by number, what was wrong, and how much each process grew after it was warm, in bytes. */
export async function fuzz(stack: TestStack, seed: number, count: number) {
  // Some requests find objects with the ids of the inputs.
  for (let i = 0; i < 20; i += 1) await stack.rest.order({ petId: await stack.rest.pet({ stock: 1_000 }) });
  const pids = pidsOf(stack);
  const memory = (): Pids => ({ envoy: rssBytes(pids.envoy), server: rssBytes(pids.server) });
  const findings = new Findings();
  const target = targetOf(stack.publicAddress, '127.0.0.1');
  let warm: Pids | undefined;
  let next = 0;
  const work = async () => {
    const sender = new Sender(target, stack.key);
    while (next < count) {
      const index = next++;
      if (index >= count * WARM_SHARE) warm ??= memory();
      const input = fuzzInput(seed, index);
      const answer = await sender.send(input).catch((error: Error) => error);
      findings.add(`${input.protocol} ${nameOf(input, answer)}`, judge(input, answer), { index, ...input });
    }
    sender.close();
  };
  await Promise.all(Array.from({ length: WORKERS }, work));
  const [start, end] = [warm ?? memory(), memory()];
  const growth = { envoy: end.envoy - start.envoy, server: end.server - start.server };
  return { outcomes: findings.outcomes, faults: findings.faults, growth };
}

/** A response, why there rightly is none, or what is wrong. */
type Result = Answer | string | Error;

class Sender {
  readonly #target: Target;
  readonly #key: string;
  readonly #http1: Http1Connection;
  #session: ClientHttp2Session | undefined;

  constructor(target: Target, key: string) {
    this.#target = target;
    this.#key = key;
    this.#http1 = new Http1Connection(target);
  }

  close(): void {
    this.#http1.close();
    this.#session?.destroy();
  }

  async send(input: FuzzInput): Promise<Result> {
    return input.protocol === 'HTTP/1.1' ? this.#overHttp1(input) : this.#overHttp2(input);
  }

  async #overHttp1({ method, bytes, isWhole }: FuzzInput & { protocol: 'HTTP/1.1' }): Promise<Result> {
    if (!isWhole) this.#http1.close();
    const giveUpMs = isWhole ? GIVE_UP_MS : SILENCE_MS;
    const request = Buffer.from(this.#withKey(bytes), 'latin1');
    const answer = await this.#http1.exchange(request, { isHead: method === 'HEAD', giveUpMs });
    if (!isWhole) this.#http1.close();
    return isWhole && typeof answer === 'string' ? new Error(`no answer: ${answer}`) : answer;
  }

  /** A malformed request (RFC 9113, section 8.1.1) may be reset without a response. */
  async #overHttp2({ method, path, headers, body }: Exclude<FuzzInput, { protocol: 'HTTP/1.1' }>): Promise<Result> {
    if (this.#session === undefined || this.#session.closed || this.#session.destroyed) {
      this.#session = await openSession(this.#target);
    }
    const own = Object.fromEntries(headers.map(([name, value]) => [name, this.#withKey(value)]));
    const sent = { body: body === undefined ? undefined : Buffer.from(body, 'latin1'), giveUpMs: GIVE_UP_MS };
    let exchanging: ReturnType<typeof exchange>;
    try {
      exchanging = exchange(this.#session, { ...own, ':method': method, ':path': path }, sent);
    } catch {
      return 'not sent'; // Node refuses to
    }
    const { status, resetCode, ...answer } = await exchanging;
    if (status !== undefined) return { status, ...answer };
    const isMalformed = !path.startsWith('/') || resetCode === constants.NGHTTP2_PROTOCOL_ERROR;
    return isMalformed ? 'malformed' : new Error(`the stream ended without an answer, with code ${resetCode}`);
  }

  #withKey(text: string): string {
    return text.replaceAll(KEY, this.#key);
  }
}

const isCall = ({ protocol }: FuzzInput) => protocol === 'gRPC' || protocol === 'gRPC-Web';

function nameOf(input: FuzzInput, result: Result): string {
  if (result instanceof Error) return 'failed';
  if (typeof result === 'string') return result;
  return `${(isCall(input) ? statusOfGrpc(result) : undefined) ?? result.status}`;
}

/** What is wrong; undefined when nothing is. */
function judge(input: FuzzInput, result: Result): string | undefined {
  if (result instanceof Error) return result.message;
  if (typeof result === 'string') return undefined;
  const { protocol, method } = input;
  const fault = faultOf({ protocol, method, mayShed: false }, result);
  if (!isCall(input) || !('path' in input)) return fault;
  const isForeign = !input.path.startsWith('/petstore.v1.');
  if (fault?.endsWith(' says nothing') && isForeign) return undefined;
  const hasDeadline = input.headers.some(([name]) => name === 'grpc-timeout');
  return statusOfGrpc(result) === DEADLINE_EXCEEDED && !hasDeadline ? 'it is DEADLINE_EXCEEDED' : fault;
}
