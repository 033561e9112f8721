/** A caller of a server without Envoy: it speaks of methods, paths and JSON, as the table of operations does. */
import { randomUUID } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import { type Client, type Metadata, type ServiceError, status as Status } from '@grpc/grpc-js';
import { RestMakers } from '../shop/resources.ts';
import { GrpcCaller, toFailure } from '../support/calls/grpc-caller.ts';
import { overGrpc, PUBLIC } from '../support/contract/resources.ts';

export interface WalkRequest {
  readonly method: string;
  readonly path: string;
  readonly json?: unknown;
  /** A POST has one of its own otherwise. */
  readonly key?: string;
}

export interface Answer {
  /** `OK`, or the reason of an error, or its gRPC code. */
  readonly code: string;
  // biome-ignore lint/suspicious/noExplicitAny: of any operation
  readonly body: any;
  readonly isReplay: boolean;
}

/** How often a request is sent again that gets no answer, and after which pause. */
const MAX_TRIES = 5;
const PAUSE_MS = 20;
/** These leave open whether the request was carried out. */
const NO_ANSWER = ['UNAVAILABLE', 'DEADLINE_EXCEEDED', 'INTERNAL'];

/** Makes what the shop has, by requests that must succeed. */
export abstract class Maker extends RestMakers {
  abstract send(request: WalkRequest): Promise<Answer>;

  async get(path: string): Promise<Answer['body']> {
    return this.#done({ method: 'GET', path });
  }

  async put(path: string, json: unknown): Promise<void> {
    await this.#done({ method: 'PUT', path, json });
  }

  async created(path: string, json: unknown): Promise<Answer['body']> {
    return this.#done({ method: 'POST', path, json });
  }

  async #done(request: WalkRequest): Promise<Answer['body']> {
    const { code, body } = await this.send(request);
    if (code !== 'OK') throw new Error(`${request.method} ${request.path} is ${code}: ${body}`);
    return body;
  }
}

export class Caller extends Maker {
  readonly #grpc: GrpcCaller;
  /** How many answers had the account's limits: its usage. While its key can't be read, an answer has the address's. */
  counted = 0;
  /** What the last such answer left of the day. */
  remaining = Number.POSITIVE_INFINITY;

  constructor(address: string | Client, key: string) {
    super();
    this.#grpc = new GrpcCaller(address, key);
  }

  close(): void {
    this.#grpc.close();
  }

  async send({ method, path, json, key = randomUUID() }: WalkRequest): Promise<Answer> {
    const { operation, fields } = operationAt(method, path);
    const metadata = operation.takesIdempotencyKey ? { 'idempotency-key': key } : {};
    try {
      const called = overGrpc(operation, fields, json as object | undefined);
      const { message: body, headers } = await this.#grpc.exchange(called, undefined, { metadata });
      this.#count(headers);
      return { code: 'OK', body, isReplay: headers.get('idempotency-replayed').length > 0 };
    } catch (thrown) {
      const { code, reason, message: body, metadata: headers } = toFailure(thrown as ServiceError);
      this.#count(headers);
      return { code: reason ?? Status[code] ?? '', body, isReplay: false };
    }
  }

  /** Sends a request until there is an answer, a POST with the same key. The last one is the answer. */
  async repeat(request: WalkRequest): Promise<readonly Answer[]> {
    const answers: Answer[] = [];
    for (const key = request.key ?? randomUUID(); ; ) {
      const answer = await this.send({ ...request, key });
      answers.push(answer);
      if (!NO_ANSWER.includes(answer.code) || answers.length === MAX_TRIES) return answers;
      await delay(PAUSE_MS);
    }
  }

  #count(headers: Metadata): void {
    if (!String(headers.get('ratelimit-policy')).includes('"day"')) return;
    this.counted += 1;
    this.remaining = Number(/"day";r=(\d+)/.exec(String(headers.get('ratelimit')))?.[1]);
  }
}

/** The operation at a path, and what its request has of path and query. */
export function operationAt(method: string, path: string) {
  const { pathname, searchParams } = new URL(path, 'http://localhost');
  const operation = PUBLIC.find((one) => one.method === method && one.routes[0]?.pattern.test(pathname));
  if (operation === undefined) throw new Error(`there is no operation ${method} ${path}`);
  const [, id] = operation.routes[0]?.pattern.exec(pathname) ?? [];
  const ofPath = operation.idName === undefined ? {} : { [operation.idName]: id };
  const lists = operation.input.fields.filter(({ fieldKind }) => fieldKind === 'list').map(({ jsonName }) => jsonName);
  const ofLists = lists.filter((name) => searchParams.has(name)).map((name) => [name, searchParams.getAll(name)]);
  return { operation, fields: { ...Object.fromEntries([...searchParams, ...ofLists]), ...ofPath } };
}
