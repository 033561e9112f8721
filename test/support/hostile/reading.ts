/** One connection of a random reader. */
import type { ClientHttp2Session, ClientHttp2Stream } from 'node:http2';
import { setTimeout as delay } from 'node:timers/promises';
import type { Answer } from './answers.ts';
import { Http1Connection } from './http1-connection.ts';
import type { Connection, Plan } from './reader-plans.ts';
import { openSession, type Target, toHeaders } from './sockets.ts';

export interface Received {
  /** Why there is no complete response, or `answered`. */
  readonly outcome: 'answered' | 'refused' | 'left' | 'reset' | 'closed' | 'silence';
  readonly answer?: Answer;
}

const SLICE_MS = 50;
const ORDINARY_WINDOW = 65_535;

type Took = (plan: Plan, received: Received) => void;

/** Resolves when all requests of the connection have ended, one way or the other. */
export async function read(target: Target, key: string, connection: Connection, took: Took): Promise<void> {
  const [first] = connection.plans;
  if (first?.protocol === 'HTTP/1.1') return took(first, await readHttp1(target, key, connection, first));
  const { window, opensAfterMs, dropsAfterMs, plans } = connection;
  const session = await openSession(target, 0, { initialWindowSize: window }).catch(() => undefined);
  if (session === undefined) return took(plans[0] as Plan, { outcome: 'refused' });
  const timers = [
    setTimeout(() => session.destroyed || session.settings({ initialWindowSize: ORDINARY_WINDOW }), opensAfterMs),
    ...(dropsAfterMs === undefined ? [] : [setTimeout(() => session.destroy(), dropsAfterMs)]),
  ];
  try {
    await Promise.all(plans.map(async (plan) => took(plan, await readHttp2(session, key, plan))));
  } finally {
    for (const timer of timers) clearTimeout(timer);
    session.destroy();
  }
}

async function readHttp1(target: Target, key: string, { dropsAfterMs }: Connection, plan: Plan): Promise<Received> {
  const { method, path, body } = plan;
  const headers = Object.entries(withKey(plan, key)).map(([name, value]) => `${name}: ${value}\r\n`);
  const length = body === undefined ? '' : `content-length: ${body.length}\r\n`;
  const sent = body?.slice(0, Math.ceil(plan.sentShare * body.length)) ?? '';
  const request = Buffer.from(
    `${method} ${path} HTTP/1.1\r\nhost: petstore\r\n${headers.join('')}${length}\r\n${sent}`,
  );
  const socket = new Http1Connection(target);
  const bytes = plan.sentShare === 1 ? request : request.subarray(0, Math.ceil(plan.sentShare * request.length));
  const giveUpMs = Math.min(plan.endsAfterMs, dropsAfterMs ?? plan.endsAfterMs);
  const answer = await socket.exchange(bytes, { giveUpMs });
  socket.close();
  if (typeof answer === 'string') return { outcome: answer };
  return { outcome: 'answered', answer };
}

function withKey({ headers, hasKey }: Plan, key: string): Readonly<Record<string, string>> {
  return hasKey ? { ...headers, authorization: `Bearer ${key}` } : headers;
}

async function readHttp2(session: ClientHttp2Session, key: string, plan: Plan): Promise<Received> {
  if (session.destroyed || session.closed) return { outcome: 'closed' };
  const { method, path, body, sentShare, endsAfterMs } = plan;
  const headers = { ':method': method, ':path': path, ...withKey(plan, key) };
  const stream = session.request(headers, { endStream: body === undefined && sentShare === 1 });
  const received: Record<string, unknown> = {};
  const chunks: Buffer[] = [];
  let hasLeft = false;
  let hasEnded = false;
  const add = (more: object) => Object.assign(received, more);
  stream.on('response', add).on('trailers', add);
  stream.on('error', () => undefined);
  stream.on('end', () => {
    hasEnded = !stream.aborted && !session.destroyed;
  });
  const closed = new Promise<void>((resolve) => stream.once('close', () => resolve()));
  if (body !== undefined) {
    const bytes = Buffer.from(body, 'latin1');
    stream.write(bytes.subarray(0, Math.ceil(sentShare * bytes.length)));
    if (sentShare === 1) stream.end();
  }
  const timer = setTimeout(() => {
    hasLeft = true;
    stream.close(plan.waits ? 0 : 8);
    stream.destroy();
  }, endsAfterMs);
  void takeBody(stream, plan, chunks);
  await closed;
  clearTimeout(timer);
  const status = received[':status'];
  if (hasEnded && stream.rstCode === 0 && !hasLeft && status !== undefined) {
    const answer = { status: Number(status), headers: toHeaders(received), body: Buffer.concat(chunks) };
    return { outcome: 'answered', answer };
  }
  return { outcome: hasLeft ? 'left' : session.destroyed ? 'closed' : 'reset' };
}

async function takeBody(stream: ClientHttp2Stream, plan: Plan, chunks: Buffer[]): Promise<void> {
  const { slice, stopsAfter } = plan;
  if (slice === undefined && stopsAfter === undefined)
    return void stream.on('data', (chunk: Buffer) => chunks.push(chunk));
  for (let bytes = 0; !stream.destroyed && bytes < (stopsAfter ?? Number.POSITIVE_INFINITY); ) {
    const chunk = stream.read(Math.min(slice ?? Number.POSITIVE_INFINITY, stream.readableLength) || undefined);
    if (chunk !== null) chunks.push(chunk);
    bytes += chunk?.length ?? 0;
    await delay(SLICE_MS);
  }
}
