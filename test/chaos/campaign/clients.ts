/**
 * The clients of a chaos run. Each carries out operations of the walk, one after the other, over REST or gRPC, and
 * repeats what gets no answer: so it must be told what it was told when nothing failed.
 */
import { randomUUID } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import { isDeepStrictEqual } from 'node:util';
import { Client as Channel } from '@grpc/grpc-js';
import { insecure } from '../../support/calls/grpc.ts';
import { RestClient } from '../../support/calls/rest-client.ts';
import { type Answer, Caller, Maker, operationAt, type WalkRequest } from '../../walk/caller.ts';
import { WRITES } from '../../walk/operations.ts';
import { idOf, kindOf, normalized, READS } from '../../walk/oracle.ts';

/** Envoy ends a call after 15 seconds. */
const LONGEST_S = 20;
const PAUSE_MS = 20;
const AFTER_FAILURE_MS = 150;
/** After so many tries the service does not come back. */
const MAX_TRIES = 400;

/** These leave open whether a request was carried out. */
const NO_ANSWER = ['UNAVAILABLE', 'DEADLINE_EXCEEDED', 'REQUEST_TIMEOUT', 'CANCELLED'];
/** What grpc-js itself says, as INTERNAL, when a response was cut off in the middle. */
const CUT_OFF = /^Received RST_STREAM with code [02]\b/;
/** Reconnects soon, so that the channel's backoff does not look like an outage of the service. */
const SOON = { 'grpc.initial_reconnect_backoff_ms': 100, 'grpc.max_reconnect_backoff_ms': 500 };

export class Seen {
  calls = 0;
  /** When a call got no answer. */
  readonly failedMs: number[] = [];
  /** The keys of the POSTs that were acknowledged, and the paths that were deleted, by the path of the list. */
  readonly made = new Map<string, Set<string>>();
  readonly deleted = new Map<string, Set<string>>();
  readonly violations: string[] = [];
}

export class Client extends Maker {
  readonly transport: 'REST' | 'gRPC';
  readonly #seen: Seen;
  /** The last acknowledged state at a path; undefined where it was deleted. */
  readonly #states = new Map<string, unknown>();
  readonly #sendOnce: (request: WalkRequest) => Promise<Answer>;
  readonly close: () => void;

  constructor(transport: Client['transport'], address: string, key: string, seen: Seen) {
    super();
    [this.transport, this.#seen] = [transport, seen];
    const channel = new Channel(address, insecure, { ...SOON, 'grpc.use_local_subchannel_pool': 1 });
    const [grpc, rest] = [new Caller(channel, key), new RestClient(`http://${address}`, key)];
    this.#sendOnce = (request) => (transport === 'gRPC' ? grpc.send(request) : overRest(rest, request));
    this.close = () => channel.close();
  }

  /** Repeats a request until it has an answer, a POST with its key. Rejects when an answer breaks the contract. */
  async send({ key = randomUUID(), ...request }: WalkRequest): Promise<Answer> {
    const { method, path } = request;
    const seen = this.#seen;
    for (let tries = 1; tries < MAX_TRIES; tries += 1) {
      const answer = await inTime(this.#sendOnce({ ...request, key }));
      seen.calls += 1;
      // Who repeats a DELETE that was carried out learns that it is gone.
      const isGone = method === 'DELETE' && tries > 1 && answer.code.endsWith('_NOT_FOUND');
      const isOk = answer.code === 'OK' || isGone;
      if (isOk && method === 'POST') add(seen.made, path, key);
      if (isOk && method === 'DELETE') add(seen.deleted, path.replace(/\/\w+$/, ''), path);
      if (isOk) return { ...answer, code: 'OK', body: isGone ? {} : answer.body };
      if (!NO_ANSWER.includes(answer.code) && !CUT_OFF.test(answer.body)) return answer;
      seen.failedMs.push(Date.now());
      await delay(AFTER_FAILURE_MS);
    }
    throw new Error(`${method} ${path} got no answer ${MAX_TRIES} times`);
  }

  /** Rejects unless a path has what was acknowledged. */
  async #look(path: string): Promise<void> {
    const expected = this.#states.get(path);
    const { code, body } = await this.send({ method: 'GET', path });
    const isRight = expected === undefined ? code.endsWith('_NOT_FOUND') : isDeepStrictEqual(body, expected);
    if (!isRight) throw new Error(`${path} is ${code} ${JSON.stringify(body)}, not ${JSON.stringify(expected)}`);
  }

  async lookAtAll(): Promise<void> {
    for (const path of this.#states.keys()) {
      await this.#look(path).catch((error: Error) => this.#seen.violations.push(error.message));
    }
  }

  /** Carries out an operation, and reads back what it was told. Resolves with that, without ids. */
  async perform({ prepare }: (typeof WRITES)[number]): Promise<readonly string[]> {
    const answers = (await prepare(this, '0')).map(async (request) => {
      const { method, path } = request;
      const { operation } = operationAt(method, path);
      const answer = await this.send(request);
      const read = READS.get(kindOf(operation));
      if (answer.code !== 'OK' || read === undefined) return [operation, answer] as const;
      const place = method === 'DELETE' ? path : read.template.replace(/\{\w+\}/, idOf(answer.body));
      this.#states.set(place, method === 'DELETE' ? undefined : answer.body);
      await this.#look(place);
      return [operation, answer] as const;
    });
    return normalized([], await Promise.all(answers)).said;
  }

  /** Carries out those operations that chance chooses, until it is over. */
  async run(chance: Iterable<number>, expected: readonly (readonly string[])[], over: AbortSignal): Promise<void> {
    for (const number of chance) {
      if (over.aborted) return;
      const index = number % WRITES.length;
      const operation = WRITES[index] as (typeof WRITES)[number];
      const said = await this.perform(operation).catch((error: Error) => [error.message]);
      if (!isDeepStrictEqual(said, expected[index]))
        this.#seen.violations.push(`${operation.name}: ${said.join(', ')}`);
      await delay(PAUSE_MS);
    }
  }
}

function add(sets: Map<string, Set<string>>, name: string, value: string): void {
  sets.set(name, (sets.get(name) ?? new Set()).add(value));
}

async function overRest(rest: RestClient, { method, path, json, key = '' }: WalkRequest): Promise<Answer> {
  try {
    const headers = method === 'POST' ? { 'idempotency-key': key } : {};
    const { status, text } = await rest.send(method, path, { json, headers });
    const body = text === '' ? {} : JSON.parse(text);
    return { code: status < 400 ? 'OK' : body.code, body, isReplay: false };
  } catch (error) {
    if (!(error instanceof TypeError)) throw error; // fetch's error for a failed connection
    return { code: 'UNAVAILABLE', body: error.message, isReplay: false };
  }
}

async function inTime<T>(answer: Promise<T>): Promise<T> {
  const over = new AbortController();
  const late = async () => {
    // Second by second: when the whole machine pauses, that counts as one, and is no fault of the service.
    for (let second = 0; second < LONGEST_S; second += 1) await delay(1_000, undefined, over);
    throw new Error(`no answer in ${LONGEST_S} s`);
  };
  return Promise.race([answer, late()]).finally(() => over.abort());
}
