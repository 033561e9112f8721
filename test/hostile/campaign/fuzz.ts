/**
 * Sends the inputs of fuzz-inputs.ts and checks each response: no 5xx, and errors of the contract's form. Some callers
 * send half a request, read slowly, stop or leave. Afterwards the same processes run, nothing is open, and nothing has
 * grown. A seed decides what each caller does, but not the times at which the service answers.
 */
import { readFile } from 'node:fs/promises';
import { type ClientHttp2Session, constants } from 'node:http2';
import { type Answer, faultOf, statusOfGrpc } from '../../support/calls/answers.ts';
import { http1Connection } from '../../support/calls/http1-connection.ts';
import { exchange, openSession, type Target, targetOf } from '../../support/calls/http2.ts';
import type { TestStack } from '../../support/service/stack.ts';
import { type FuzzInput, fuzzInput, KEY, type Manner, type OverHttp1, type OverHttp2 } from './fuzz-inputs.ts';
import { leftOpen, MIB, mib, pidsOf, rssBytes, storeLargestList, usedBytes } from './service.ts';

const WORKERS = 48;
/** After so many inputs caches are full and code is compiled. */
const WARM_SHARE = 0.3;
/** Changed bytes may no longer be a request, and then there may be no response. */
const SILENCE_MS = 300;
const GIVE_UP_MS = 20_000;
const DEADLINE_EXCEEDED = 4;
const ORDINARY_WINDOW = 65_535;
const CLOSE_MS = 45_000;
/** How many faults are shown, and how much of each. */
const [SHOWN, MAX_CHARACTERS] = [10, 600];
const MAX_KEPT_BYTES = 8 * MIB;
const MAX_ENVOY_GROWTH = 64 * MIB;

/** Resolves with outcomes by number, and with what was wrong. */
export async function fuzz(stack: TestStack, seed: number, count: number) {
  // Some requests find objects with the ids of the inputs.
  for (let i = 0; i < 20; i += 1) await stack.rest.order({ petId: await stack.rest.pet({ stock: 1_000 }) });
  await storeLargestList(stack);
  const outcomes: Record<string, number> = {};
  const faults: string[] = [];
  let next = 0;
  const work = async (worker: number, until: number) => {
    const sender = createSender(targetOf(stack.publicAddress, `127.0.5.${worker + 1}`), stack.key);
    while (next < until) {
      const index = next++;
      const input = fuzzInput(seed, index);
      const answer = await sender.send(input).catch((error: Error) => error);
      const outcome = `${input.protocol} ${nameOf(input, answer)}`;
      outcomes[outcome] = (outcomes[outcome] ?? 0) + 1;
      const fault = judge(input, answer);
      if (fault !== undefined) faults.push(`${outcome}: ${fault}, ${JSON.stringify({ index, ...input })}`);
    }
    sender.close();
  };
  const send = async (until: number) => {
    await Promise.all(Array.from({ length: WORKERS }, (_, worker) => work(worker, until)));
    return leftOpen(stack, CLOSE_MS);
  };
  await send(count * WARM_SHARE);
  const before = await stateOf(stack);
  const left = await send(count);
  const ends = await lastWords(stack);
  const after = await stateOf(stack);
  const [envoyGrowth, growth] = [after.envoyBytes - before.envoyBytes, after.usedBytes - before.usedBytes];
  const breaches = [
    faults.length > SHOWN && `${faults.length} faults`,
    ...faults.slice(0, SHOWN).map((fault) => fault.slice(0, MAX_CHARACTERS)),
    ...ends,
    left !== undefined && `still open: ${left}`,
    after.envoy !== before.envoy && 'Envoy ended',
    after.server !== before.server && 'the server ended',
    envoyGrowth > MAX_ENVOY_GROWTH && `Envoy grew by ${mib(envoyGrowth)}`,
    growth > MAX_KEPT_BYTES && `the server kept ${mib(growth)}`,
  ].filter((breach) => typeof breach === 'string');
  return { outcomes, breaches };
}

async function lastWords({ stack }: TestStack): Promise<string[]> {
  const logs = await Promise.all(stack.servers.map(({ log }) => readFile(log.path, 'utf8')));
  return logs.flatMap((log) => log.match(/^petstore: .*/gm) ?? []).map((line) => `a server ended: ${line}`);
}

async function stateOf(stack: TestStack) {
  const { envoy, server } = pidsOf(stack);
  return { envoy, server, usedBytes: await usedBytes(stack).catch(() => 0), envoyBytes: rssBytes(envoy) };
}

/** A response, why there rightly is none, or what is wrong. */
type Result = Answer | string | Error;

class Unread extends Error {}

function createSender(target: Target, key: string) {
  const http1 = http1Connection(target);
  let session: ClientHttp2Session | undefined;
  const withKey = (text: string) => text.replaceAll(KEY, key);

  const overHttp1 = async ({ method, bytes, isWhole }: OverHttp1): Promise<Result> => {
    if (!isWhole) http1.close();
    const giveUpMs = isWhole ? GIVE_UP_MS : SILENCE_MS;
    const request = Buffer.from(withKey(bytes), 'latin1');
    const answer = await http1.exchange(request, { isHead: method === 'HEAD', giveUpMs });
    if (!isWhole) http1.close();
    if (!isWhole || typeof answer !== 'string') return answer;
    return answer === 'closed' ? new Unread('the connection was closed') : new Error(`no answer: ${answer}`);
  };

  /** On a connection of its own. */
  const oddly = async (
    headers: Readonly<Record<string, string>>,
    body: Buffer | undefined,
    manner: Manner,
  ): Promise<Result> => {
    const { window, opensAfterMs, sentShare, giveUpMs, drops, slice, stopsAfter } = manner;
    const own = await openSession(target, 0, { initialWindowSize: window });
    const timers = [
      setTimeout(() => own.destroyed || own.settings({ initialWindowSize: ORDINARY_WINDOW }), opensAfterMs),
      ...(drops ? [setTimeout(() => own.destroy(), giveUpMs / 2)] : []),
    ];
    try {
      const sent = body?.subarray(0, Math.ceil(sentShare * body.length));
      const sending = { slice, stopsAfter, body: sent, isEnded: sentShare === 1, giveUpMs };
      const { status, outcome, ...answer } = await exchange(own, headers, sending);
      return outcome === 'answered' && status !== undefined ? { status, ...answer } : outcome;
    } finally {
      for (const timer of timers) clearTimeout(timer);
      own.destroy();
    }
  };

  /** A malformed request (RFC 9113, section 8.1.1) may be reset without a response. */
  const overHttp2 = async ({ method, path, headers, body, manner }: OverHttp2): Promise<Result> => {
    const own = Object.fromEntries(headers.map(([name, value]) => [name, withKey(value)]));
    const all = { ...own, ':method': method, ':path': path };
    const bytes = body === undefined ? undefined : Buffer.from(body, 'latin1');
    try {
      if (manner !== undefined) return await oddly(all, bytes, manner);
      if (session === undefined || session.closed || session.destroyed) {
        session = await openSession(target);
      }
      const { status, resetCode, ...answer } = await exchange(session, all, { body: bytes, giveUpMs: GIVE_UP_MS });
      if (status !== undefined) return { status, ...answer };
      if (resetCode === constants.NGHTTP2_REFUSED_STREAM) return new Unread('the stream was refused');
      const isMalformed = !path.startsWith('/') || resetCode === constants.NGHTTP2_PROTOCOL_ERROR;
      return isMalformed ? 'malformed' : new Error(`the stream ended without an answer, with code ${resetCode}`);
    } catch (error) {
      if (/^ERR_/.test((error as NodeJS.ErrnoException).code ?? '')) return 'not sent'; // Node refuses to
      throw error;
    }
  };

  return {
    /** Envoy closes idle connections. A request that it does not read for that reason is sent again. */
    async send(input: FuzzInput): Promise<Result> {
      const sendOnce = () => (input.protocol === 'HTTP/1.1' ? overHttp1(input) : overHttp2(input));
      const result = await sendOnce();
      return result instanceof Unread ? sendOnce() : result;
    },
    close() {
      http1.close();
      session?.destroy();
    },
  };
}

const isCall = ({ protocol }: FuzzInput) => protocol === 'gRPC' || protocol === 'gRPC-Web';

function nameOf(input: FuzzInput, result: Result): string {
  if (result instanceof Error) return 'failed';
  if (typeof result === 'string') return result;
  return `${(isCall(input) ? statusOfGrpc(result) : undefined) ?? result.status}`;
}

function judge(input: FuzzInput, result: Result): string | undefined {
  if (result instanceof Error) return result.message;
  if (typeof result === 'string') return undefined;
  const { method } = input;
  const target = 'path' in input ? input.path : (input.bytes.split(' ')[1] ?? '');
  const isForeign = !target.startsWith('/petstore.v1.');
  const protocol = isForeign || isCall(input) ? input.protocol : 'Connect'; // on such a path, whatever the type
  const isOdd = 'manner' in input && input.manner !== undefined;
  const fault = faultOf(protocol, method, result, isOdd);
  if (!isCall(input) || !('path' in input)) return fault;
  // Reflection and health have errors without a message, and a stream of reflection may have no response.
  if (isForeign && / says nothing$|^OK without a message$/.test(fault ?? '')) return undefined;
  const hasDeadline = input.headers.some(([name]) => name === 'grpc-timeout');
  return statusOfGrpc(result) === DEADLINE_EXCEEDED && !hasDeadline ? 'it is DEADLINE_EXCEEDED' : fault;
}
