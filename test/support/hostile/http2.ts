/** One request on an HTTP/2 connection, with any headers and bytes. */
import type { ClientHttp2Session, OutgoingHttpHeaders } from 'node:http2';

export interface Exchanged {
  /** Headers and trailers; empty when there was no response. */
  readonly headers: Readonly<Record<string, unknown>>;
  readonly body: Buffer;
  /** The code of the reset; 0 without one. */
  readonly resetCode: number;
  readonly tookMs: number;
}

interface Sending {
  readonly body?: Uint8Array | undefined;
  /** Whether the request is complete. */
  readonly isEnded?: boolean;
  /** When the caller resets it. */
  readonly giveUpMs?: number;
}

/** Resolves with the response, or when the stream ends without one. Throws for headers that Node refuses to send. */
export function exchange(
  session: ClientHttp2Session,
  headers: OutgoingHttpHeaders,
  { body, isEnded = true, giveUpMs = 60_000 }: Sending = {},
): Promise<Exchanged> {
  const beganAtMs = performance.now();
  const stream = session.request(headers, { endStream: isEnded && body === undefined });
  const received: Record<string, unknown> = {};
  const chunks: Buffer[] = [];
  const add = (more: object) => Object.assign(received, more);
  stream.on('response', add).on('trailers', add);
  stream.on('data', (chunk: Buffer) => chunks.push(chunk));
  stream.on('error', () => undefined); // "close" follows
  if (body !== undefined) stream.write(body);
  if (isEnded && body !== undefined) stream.end();
  const timer = setTimeout(() => stream.destroy(), giveUpMs);
  return new Promise<void>((resolve) => {
    // A response may end before an incomplete request does.
    stream.on('end', () => received[':status'] !== undefined && !stream.aborted && resolve());
    stream.on('close', () => resolve());
  }).then(() => {
    clearTimeout(timer);
    const [whole, tookMs] = [Buffer.concat(chunks), performance.now() - beganAtMs];
    return { headers: received, body: whole, resetCode: stream.rstCode ?? 0, tookMs };
  });
}
