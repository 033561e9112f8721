/** The CPU time of a request with a body and without a valid key, compared with a plain GET without one. */
import { once } from 'node:events';
import { Agent, request } from 'node:http';
import type { ClientHttp2Session } from 'node:http2';
import { setTimeout as delay } from 'node:timers/promises';
import { generateKey } from '../../../src/access/keys/format.ts';
import { median } from '../numbers.ts';
import type { TestStack } from '../stack.ts';
import { pidsOf, serviceCpuUs } from './resources.ts';
import { grpcFrame, grpcHeaders, openSession, type Target, targetOf } from './sockets.ts';

const KIB = 1_024;

function repeated(unit: string, bytes: number, before = '', after = ''): Buffer {
  const count = Math.floor((bytes - before.length - after.length) / unit.length);
  return Buffer.from(before + unit.repeat(count) + after);
}

function nested(bytes: number): Buffer {
  return Buffer.from('['.repeat(bytes / 2) + ']'.repeat(bytes / 2));
}

/** Bodies that are expensive to parse: of the largest size that is allowed, and far larger. */
export const HEAVY_BODIES: Readonly<Record<string, Buffer>> = {
  'many numbers': repeated('1,', 64 * KIB, '[', '1]'),
  'deep nesting': nested(64 * KIB),
  'deep objects': repeated('{"a":', 64 * KIB),
  'a long string': repeated('x', 64 * KIB, '{"name":"', '"}'),
  'many escapes': repeated('\\u0041', 64 * KIB, '{"name":"', '"}'),
  'many quotes': repeated('\\"', 64 * KIB, '{"name":"', '"}'),
  'many fields': repeated('"a":1,', 64 * KIB, '{', '"a":1}'),
  'many spaces': repeated(' ', 64 * KIB, '{', '}'),
  'bytes that are no text': Buffer.alloc(64 * KIB, 0xff),
  'a mebibyte of numbers': repeated('1,', KIB * KIB, '[', '1]'),
};

export const TRANSPORTS = ['kept connections', 'new connections', 'HTTP/2', 'gRPC', 'Connect'] as const;
export type Transport = (typeof TRANSPORTS)[number];

export interface Costs {
  readonly getUs: number;
  readonly postUs: number;
  /** The cost of a POST as a multiple of a GET. */
  readonly ratio: number;
  /** Responses to the POST, by status. */
  readonly statuses: Readonly<Record<string, number>>;
}

interface Measured {
  readonly body: Buffer;
  readonly transport: Transport;
  /** Whether each request has a made-up key with a valid checksum. */
  readonly withKeys: boolean;
  readonly rounds: number;
  readonly perRound: number;
}

/** Work after the response is counted too. */
const AFTERMATH_MS = 30;

/** The most that a request of an anonymous caller may cost, as a multiple of a GET. */
export const MAX_RATIO = 2;

/** Measures again for longer when the cost is too high: other programs disturb a short measurement. */
export async function settledCosts(stack: TestStack, measured: Measured): Promise<Costs> {
  const costs = await measureCosts(stack, measured);
  return costs.ratio <= MAX_RATIO ? costs : measureCosts(stack, { ...measured, rounds: 3 * measured.rounds });
}

/** Alternates between both, so that other programs disturb both alike. */
async function measureCosts(stack: TestStack, measured: Measured): Promise<Costs> {
  const { body, transport, withKeys, rounds, perRound } = measured;
  const pids = pidsOf(stack);
  const caller = await Caller.open(targetOf(stack.publicAddress, '127.0.0.2'), transport);
  const statuses: Record<string, number> = {};
  const run = async (send: () => Promise<string>, count: number): Promise<number> => {
    const beforeUs = serviceCpuUs(pids);
    for (let i = 0; i < count; i += 1) await send();
    await delay(AFTERMATH_MS);
    return (serviceCpuUs(pids) - beforeUs) / count;
  };
  const get = () => caller.get();
  const post = async () => {
    const answer = await caller.post(body, withKeys ? generateKey() : undefined);
    statuses[answer] = (statuses[answer] ?? 0) + 1;
    return answer;
  };
  try {
    await run(get, perRound); // warms up
    await run(post, Math.ceil(perRound / 4));
    const pairs: { get: number; post: number }[] = [];
    for (let round = 0; round < rounds; round += 1) {
      pairs.push({ get: await run(get, perRound), post: await run(post, perRound) });
    }
    const getUs = median(pairs.map((pair) => pair.get));
    const postUs = median(pairs.map((pair) => pair.post));
    return { getUs, postUs, ratio: median(pairs.map((pair) => pair.post / pair.get)), statuses };
  } finally {
    caller.close();
  }
}

/** A caller with one request at a time. */
class Caller {
  readonly #target: Target;
  readonly #transport: Transport;
  readonly #agent = new Agent({ keepAlive: true, maxSockets: 1 });
  #session: ClientHttp2Session | undefined;

  private constructor(target: Target, transport: Transport) {
    this.#target = target;
    this.#transport = transport;
  }

  static async open(target: Target, transport: Transport): Promise<Caller> {
    return new Caller(target, transport);
  }

  /** A GET without a key on the same kind of connection. */
  get(): Promise<string> {
    return this.#isHttp2 ? this.#http2({ ':path': '/pets' }) : this.#http1('GET', {});
  }

  post(body: Buffer, key: string | undefined): Promise<string> {
    const authorization = key === undefined ? {} : { authorization: `Bearer ${key}` };
    if (this.#transport === 'gRPC') {
      return this.#http2(grpcHeaders('/petstore.v1.PetService/CreatePet', key), grpcFrame(body));
    }
    const isConnect = this.#transport === 'Connect';
    const headers = { ...authorization, 'content-type': isConnect ? 'application/proto' : 'application/json' };
    if (this.#transport === 'HTTP/2') return this.#http2({ ...headers, ':method': 'POST', ':path': '/pets' }, body);
    const path = isConnect ? '/petstore.v1.PetService/CreatePet' : '/pets';
    return this.#http1('POST', { ...headers, 'content-length': body.length }, { path, body });
  }

  close(): void {
    this.#agent.destroy();
    this.#session?.destroy();
  }

  get #isHttp2(): boolean {
    return this.#transport === 'HTTP/2' || this.#transport === 'gRPC';
  }

  #http1(
    method: string,
    headers: Readonly<Record<string, string | number>>,
    { path = '/pets', body }: { path?: string; body?: Buffer } = {},
  ): Promise<string> {
    const { host, port, from } = this.#target;
    const agent = this.#transport === 'new connections' ? false : this.#agent;
    return new Promise((resolve) => {
      const sent = request({ host, port, localAddress: from[0], path, method, headers, agent }, (answer) => {
        answer.resume();
        answer.once('close', () => resolve(`${answer.statusCode}`)); // whether the connection stays open is known
      });
      sent.once('error', (error: NodeJS.ErrnoException) => resolve(error.code ?? error.message));
      sent.end(body);
    });
  }

  async #http2(headers: Parameters<ClientHttp2Session['request']>[0], body?: Buffer): Promise<string> {
    if (this.#session === undefined || this.#session.closed || this.#session.destroyed) {
      this.#session = await openSession(this.#target);
    }
    const stream = this.#session.request(headers, { endStream: body === undefined });
    let status = 'reset';
    stream.on('response', (answer) => {
      const grpcStatus = answer['grpc-status'];
      status = grpcStatus === undefined ? `${answer[':status']}` : `grpc-status ${grpcStatus}`;
    });
    stream.on('error', () => undefined);
    if (body !== undefined) stream.end(body);
    stream.resume();
    await once(stream, 'close').catch(() => undefined);
    return status;
  }
}
