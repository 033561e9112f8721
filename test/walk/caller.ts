/** A caller of a server without Envoy: it speaks of methods, paths and JSON, as the table of operations does. */
import { randomUUID } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import { fromBinary, fromJson, type JsonValue, toBinary, toJson } from '@bufbuild/protobuf';
import { Client, Metadata, type ServiceError, status as Status } from '@grpc/grpc-js';
import { RestMakers } from '../shop/resources.ts';
import { bearer, detailsOf, insecure } from '../support/calls/grpc.ts';
import { PUBLIC, type PublicOperation } from '../support/contract/resources.ts';

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

export class Caller extends RestMakers {
  readonly #client: Client;
  readonly #key: string;
  /** How many answers had the account's limits: its usage. While its key can't be read, an answer has the address's. */
  counted = 0;
  /** What the last such answer left of the day. */
  remaining = Number.POSITIVE_INFINITY;

  constructor(address: string, key: string) {
    super();
    this.#client = new Client(address, insecure);
    this.#key = key;
  }

  close(): void {
    this.#client.close();
  }

  async send({ method, path, json, key = randomUUID() }: WalkRequest): Promise<Answer> {
    const { operation, message } = toMessage(method, path, json);
    const metadata = bearer(this.#key);
    if (operation.takesIdempotencyKey) metadata.set('idempotency-key', key);
    let headers = new Metadata();
    try {
      const bytes = await new Promise<Buffer>((resolve, reject) => {
        this.#client
          .makeUnaryRequest(
            ...([operation.path, (sent: Buffer) => sent, (got: Buffer) => got] as const),
            ...([Buffer.from(toBinary(operation.input, message)), metadata] as const),
            (error, response) => (response === undefined ? reject(error) : resolve(response)),
          )
          .on('metadata', (received) => (headers = received));
      });
      this.#count(headers);
      const isReplay = headers.get('idempotency-replayed').length > 0;
      return { code: 'OK', body: toJson(operation.output, fromBinary(operation.output, bytes)), isReplay };
    } catch (thrown) {
      const error = thrown as ServiceError;
      this.#count(error.metadata);
      const hasDetails = error.metadata.get('grpc-status-details-bin').length > 0;
      const reason = hasDetails ? detailsOf(error).errorInfo?.reason : undefined;
      return { code: reason ?? Status[error.code] ?? '', body: error.details, isReplay: false };
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

  async get(path: string): Promise<Answer['body']> {
    const { code, body } = await this.send({ method: 'GET', path });
    if (code !== 'OK') throw new Error(`GET ${path} is ${code}: ${body}`);
    return body;
  }

  async put(path: string, json: unknown): Promise<void> {
    const { code, body } = await this.send({ method: 'PUT', path, json });
    if (code !== 'OK') throw new Error(`PUT ${path} is ${code}: ${body}`);
  }

  async created(path: string, json: unknown): Promise<Answer['body']> {
    const { code, body } = await this.send({ method: 'POST', path, json });
    if (code !== 'OK') throw new Error(`POST ${path} is ${code}: ${body}`);
    return body;
  }

  #count(headers: Metadata): void {
    if (!String(headers.get('ratelimit-policy')).includes('"day"')) return;
    this.counted += 1;
    this.remaining = Number(/"day";r=(\d+)/.exec(String(headers.get('ratelimit')))?.[1]);
  }
}

/** The operation of a path with its request message. */
function toMessage(method: string, path: string, json: unknown) {
  const { pathname, searchParams } = new URL(path, 'http://localhost');
  const matches = (one: PublicOperation) => one.method === method && one.routes[0]?.pattern.test(pathname) === true;
  const operation = PUBLIC.find(matches);
  if (operation === undefined) throw new Error(`there is no operation ${method} ${path}`);
  const [, id] = operation.routes[0]?.pattern.exec(pathname) ?? [];
  const fields = {
    ...Object.fromEntries(searchParams),
    ...(operation.idName === undefined ? {} : { [operation.idName]: id }),
    ...(operation.bodyField === undefined ? {} : { [operation.bodyField]: json }),
  };
  return { operation, message: fromJson(operation.input, fields as JsonValue) };
}
