/** Requests with conditions and idempotency keys, and what their responses show of these. */
import type { ExecutionContext } from 'ava';
import type { RestClient, RestResponse } from '../calls/rest-client.ts';

interface Write {
  readonly method: string;
  readonly path: string;
  readonly json: object | undefined;
}

export const etagOf = ({ headers }: RestResponse) => headers.get('etag') ?? 'none';
export const tagAt = async (rest: RestClient, path: string) => etagOf(await rest.get(path));

export const readIf = (rest: RestClient, path: string, tags: string, method = 'GET') =>
  rest.send(method, path, { headers: { 'if-none-match': tags } });

export const sendIf = (rest: RestClient, { method, path, json }: Write, tags: string) =>
  rest.send(method, path, { json, headers: { 'if-match': tags } });

let keys = 0;
export const newKey = () => `key-${++keys}`;

export const sendAs = (rest: RestClient, key: string, { method, path, json }: Write) =>
  rest.send(method, path, { json, headers: { 'idempotency-key': key } });

/** What a replay repeats, and whether it says that it is one. */
export const shown = ({ status, headers, text }: RestResponse, isReplay = headers.get('idempotency-replayed')) => ({
  ...{ status, text, isReplay, etag: headers.get('etag'), location: headers.get('location') },
});

export function isReplayOf(t: ExecutionContext, first: RestResponse, again: RestResponse, message?: string): void {
  t.is(first.headers.get('idempotency-replayed'), null, message);
  t.deepEqual(shown(again), shown(first, 'true'), message);
}
