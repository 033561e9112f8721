/**
 * A plain HTTP client of the REST side. It checks every response against the promises of the contract and against the
 * interface description, and throws when one does not match.
 */
import { readFile } from 'node:fs/promises';
import { RestMakers } from '../../shop/resources.ts';
import { checkAgainstDescription, type SeenResponse } from '../contract/description.ts';

export interface RestResponse extends SeenResponse {
  /** The parsed body. Throws when it is not JSON. */
  // biome-ignore lint/suspicious/noExplicitAny: tests look into bodies of every shape
  readonly body: any;
}

export function withBody(response: SeenResponse): RestResponse {
  return {
    ...response,
    get body() {
      return JSON.parse(response.text);
    },
  };
}

export interface RestRequest {
  readonly json?: unknown;
  /** Sent unchanged, without a content type unless `headers` has one. */
  readonly raw?: string | Uint8Array;
  readonly headers?: Readonly<Record<string, string>>;
}

export class RestClient extends RestMakers {
  readonly url: string;
  readonly #key: string | undefined;
  readonly #logs: readonly string[];

  /** `logs` are the servers' files: what they say of a 500 is printed. */
  constructor(url: string, key: string | undefined, logs: readonly string[] = []) {
    super();
    this.url = url;
    this.#key = key;
    this.#logs = logs;
  }

  withKey(key: string | undefined): RestClient {
    return new RestClient(this.url, key, this.#logs);
  }

  async send(method: string, path: string, { json, raw, headers }: RestRequest = {}): Promise<RestResponse> {
    const body = json === undefined ? raw : JSON.stringify(json);
    const response = await fetch(`${this.url}${path}`, {
      method,
      redirect: 'manual',
      headers: {
        ...(this.#key === undefined ? {} : { authorization: `Bearer ${this.#key}` }),
        ...(json === undefined ? {} : { 'content-type': 'application/json' }),
        ...headers,
      },
      // As bytes: with a text, fetch would add a Content-Type.
      ...(body === undefined ? {} : { body: Buffer.from(body as string) }),
    });
    if (response.status === 500) await this.#printCause(response.headers.get('x-request-id') ?? '');
    const received = { status: response.status, headers: response.headers, text: await response.text() };
    // gRPC-Web uses the same port, but is not part of the description.
    const isRest = !headers?.['content-type']?.startsWith('application/grpc');
    if (isRest) checkAgainstDescription(method, path, received);
    return withBody(received);
  }

  async #printCause(requestId: string): Promise<void> {
    const logs = await Promise.all(this.#logs.map((file) => readFile(file, 'utf8')));
    for (const line of logs.flatMap((log) => log.split('\n'))) if (line.includes(requestId)) console.error(line);
  }

  get(path: string, request?: RestRequest): Promise<RestResponse> {
    return this.send('GET', path, request);
  }

  post(path: string, json?: unknown): Promise<RestResponse> {
    return this.send('POST', path, { json });
  }

  put(path: string, json?: unknown): Promise<RestResponse> {
    return this.send('PUT', path, { json });
  }

  patch(path: string, json?: unknown): Promise<RestResponse> {
    return this.send('PATCH', path, { json });
  }

  delete(path: string): Promise<RestResponse> {
    return this.send('DELETE', path);
  }

  // biome-ignore lint/suspicious/noExplicitAny: the body of the response
  async created(path: string, json: unknown): Promise<any> {
    const response = await this.post(path, json);
    if (response.status >= 300) throw new Error(`POST ${path} answered ${response.status}: ${response.text}`);
    return response.body;
  }
}

/** The path that `Link: <…>; rel="next"` names; undefined on the last page. */
export function nextOf(headers: Headers): string | undefined {
  const link = headers.get('link');
  if (link === null) return undefined;
  const target = /^<(\/[^<>\s]*)>; rel="next"$/.exec(link)?.[1];
  if (target === undefined) throw new Error(`not a link to a next page: ${link}`);
  return target;
}

/** The rows of each page from `path` to the last. */
export async function walk<T>(rest: RestClient, path: string): Promise<T[][]> {
  const pages: T[][] = [];
  for (let next: string | undefined = path; next !== undefined; ) {
    const { status, headers, text, body } = await rest.get(next);
    if (status !== 200) throw new Error(`GET ${next} answered ${status}: ${text}`);
    pages.push(body);
    next = nextOf(headers);
  }
  return pages;
}

export async function readAll<T>(rest: RestClient, path: string): Promise<T[]> {
  return (await walk<T>(rest, `${path}?limit=100`)).flat();
}
