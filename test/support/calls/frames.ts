/** HTTP/2 in raw bytes (RFC 9113), for what Node's client does not send: many small frames in one write. */
import type { OutgoingHttpHeaders } from 'node:http2';

const TYPES = { data: 0, headers: 1, reset: 3, settings: 4, window: 8 } as const;

export const END_STREAM = 1;
const END_HEADERS = 4;

export function frame(
  type: keyof typeof TYPES,
  streamId: number,
  flags = 0,
  payload: Uint8Array = Buffer.of(),
): Buffer {
  const head = Buffer.alloc(9);
  head.writeUIntBE(payload.length, 0, 3);
  head.writeUInt8(TYPES[type], 3);
  head.writeUInt8(flags, 4);
  head.writeUInt32BE(streamId, 5);
  return Buffer.concat([head, payload]);
}

/** Pseudo-headers come first. Names and values have at most 126 bytes: each is sent as it is (RFC 7541, 6.2.2). */
export function headersFrame(streamId: number, headers: OutgoingHttpHeaders, flags = 0): Buffer {
  const block = Object.entries(headers).flatMap(([name, value]) => [Buffer.of(0), text(name), text(String(value))]);
  return frame('headers', streamId, END_HEADERS | flags, Buffer.concat(block));
}

/** A string without compression (RFC 7541, sections 5.1 and 5.2). */
function text(value: string): Buffer {
  const length = value.length < 127 ? [value.length] : [127];
  for (let rest = value.length - 127; rest >= 0; rest = rest < 128 ? -1 : rest >> 7)
    length.push(rest < 128 ? rest : (rest & 127) | 128);
  return Buffer.concat([Buffer.from(length), Buffer.from(value)]);
}

export const PREFACE = Buffer.concat([Buffer.from('PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n'), frame('settings', 0)]);

/** What every request without TLS has. */
export const PLAIN = { ':scheme': 'http', ':authority': 'petstore' } as const;
