/**
 * HTTP/2 in raw frames (RFC 9113): thousands of streams that cost this process nothing, and what Node's client doesn't
 * send, such as a window of 0 from the first byte on.
 */
import { openSocket, type Target } from './sockets.ts';

export type Fields = Readonly<Record<string, string>>;

const PREFACE = Buffer.from('PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n', 'latin1');
const [DATA, HEADERS, RST_STREAM, SETTINGS, PING, GOAWAY, WINDOW_UPDATE] = [0, 1, 3, 4, 6, 7, 8] as const;
const [END_STREAM, ACK, END_HEADERS] = [1, 1, 4] as const;
const [TABLE_SIZE, INITIAL_WINDOW] = [1, 4] as const;
/** The window of a connection before any update. */
const DEFAULT_WINDOW = 65_535;

/** A request. Without `isWhole` its stream stays half open. */
export interface RawRequest {
  readonly fields: Fields;
  readonly body?: Uint8Array;
  readonly isWhole?: boolean;
}

/** How a stream ended: its HTTP status, `reset`, or `closed` with its connection. */
type Outcome = string;

export class FrameSession {
  readonly #socket: ReturnType<typeof openSocket>;
  readonly #open = new Map<number, { status?: string; readonly end: (outcome: Outcome) => void }>();
  #received: Buffer = Buffer.alloc(0);
  #nextId = 1;

  private constructor(target: Target, index: number, window: number) {
    this.#socket = openSocket(target, index);
    this.#socket.on('data', (bytes: Buffer) => this.#read(bytes));
    this.#socket.on('close', () => {
      for (const streamId of [...this.#open.keys()]) this.#end(streamId, 'closed');
    });
    // Without a table the other side's headers are readable without any state.
    const settings = Buffer.concat([setting(TABLE_SIZE, 0), setting(INITIAL_WINDOW, window)]);
    const more = Math.max(0, window - DEFAULT_WINDOW); // for the connection, like the window of each stream
    const update = more === 0 ? [] : [frame(WINDOW_UPDATE, 0, 0, uint32(more))];
    this.#socket.write(Buffer.concat([PREFACE, frame(SETTINGS, 0, 0, settings), ...update]));
  }

  /** Resolves after the other side's SETTINGS; undefined when the connection is refused. */
  static async open(target: Target, index = 0, window = DEFAULT_WINDOW): Promise<FrameSession | undefined> {
    const session = new FrameSession(target, index, window);
    return new Promise((resolve) => {
      session.#onSettings = () => resolve(session);
      session.#socket.once('close', () => resolve(undefined));
    });
  }

  #onSettings: () => void = () => undefined;

  get openStreams(): number {
    return this.#open.size;
  }

  /** Opens a stream, of which Envoy accepts 100 at a time. Resolves when it has ended. */
  request({ fields, body, isWhole = false }: RawRequest): Promise<Outcome> {
    const streamId = this.#nextId;
    this.#nextId += 2;
    const { promise: ended, resolve: end } = Promise.withResolvers<Outcome>();
    this.#open.set(streamId, { end });
    const isLast = isWhole && body === undefined;
    const frames = [frame(HEADERS, END_HEADERS | (isLast ? END_STREAM : 0), streamId, encode(fields))];
    if (body !== undefined) frames.push(frame(DATA, isWhole ? END_STREAM : 0, streamId, body));
    this.#socket.write(Buffer.concat(frames));
    return ended;
  }

  /** From now on the kernel keeps what arrives, and then the other side what it has sent. */
  stopReading(): void {
    this.#socket.pause();
  }

  destroy(): void {
    this.#socket.destroy();
  }

  #read(bytes: Buffer): void {
    this.#received = this.#received.length === 0 ? bytes : Buffer.concat([this.#received, bytes]);
    while (this.#received.length >= 9) {
      const length = this.#received.readUIntBE(0, 3);
      if (this.#received.length < 9 + length) return;
      const [type = 0, flags = 0] = this.#received.subarray(3, 5);
      const streamId = this.#received.readUInt32BE(5);
      this.#take(type, flags, streamId, this.#received.subarray(9, 9 + length));
      this.#received = this.#received.subarray(9 + length);
    }
  }

  #take(type: number, flags: number, streamId: number, payload: Buffer): void {
    if (type === SETTINGS && !(flags & ACK)) {
      this.#socket.write(frame(SETTINGS, ACK, 0));
      this.#onSettings();
    }
    if (type === PING && !(flags & ACK)) this.#socket.write(frame(PING, ACK, 0, payload));
    if (type === GOAWAY) this.#socket.end();
    const stream = this.#open.get(streamId);
    if (type === HEADERS && stream !== undefined) stream.status ??= statusOf(payload); // trailers have none
    const isEnd = (type === HEADERS || type === DATA) && flags & END_STREAM;
    if (isEnd) this.#end(streamId, stream?.status ?? 'closed');
    if (type === RST_STREAM) this.#end(streamId, stream?.status ?? 'reset');
  }

  #end(streamId: number, outcome: Outcome): void {
    this.#open.get(streamId)?.end(outcome);
    this.#open.delete(streamId);
  }
}

function frame(type: number, flags: number, streamId: number, payload: Uint8Array = Buffer.alloc(0)): Buffer {
  const head = Buffer.alloc(9);
  head.writeUIntBE(payload.length, 0, 3);
  head.writeUInt8(type, 3);
  head.writeUInt8(flags, 4);
  head.writeUInt32BE(streamId, 5);
  return Buffer.concat([head, payload]);
}

function setting(id: number, value: number): Buffer {
  const bytes = Buffer.alloc(6);
  bytes.writeUInt16BE(id, 0);
  bytes.writeUInt32BE(value, 2);
  return bytes;
}

function uint32(value: number): Buffer {
  const bytes = Buffer.alloc(4);
  bytes.writeUInt32BE(value);
  return bytes;
}

/** HPACK (RFC 7541): each header as a literal without indexing, in plain text; pseudo-headers first. */
function encode(fields: Fields): Buffer {
  return Buffer.concat(
    Object.entries(fields)
      .sort(([a], [b]) => Number(b.startsWith(':')) - Number(a.startsWith(':')))
      .flatMap((field) => [Buffer.of(0), ...field.map((text) => literal(text))]),
  );
}

function literal(text: string): Buffer {
  const bytes = Buffer.from(text, 'latin1');
  const length: number[] = [];
  let rest = bytes.length - 127;
  if (rest < 0) return Buffer.concat([Buffer.of(bytes.length), bytes]);
  for (; rest >= 128; rest = Math.floor(rest / 128)) length.push((rest % 128) | 128);
  return Buffer.concat([Buffer.of(127, ...length, rest), bytes]);
}

/** The statuses of HPACK's static table, from index 8. */
const INDEXED = ['200', '204', '206', '304', '400', '404', '500'];
/** Digits in HPACK's Huffman code. */
const DIGITS = ['00000', '00001', '00010', '011001', '011010', '011011', '011100', '011101', '011110', '011111'];

/** The status, which is the first header (RFC 9113, section 8.3). */
function statusOf(block: Buffer): string {
  let at = 0;
  while (((block[at] ?? 0) & 0xe0) === 0x20) at += 1; // sizes of the table
  const first = block[at] ?? 0;
  if (first & 0x80) return INDEXED[(first & 0x7f) - 8] ?? 'no status';
  const length = block[at + 1] ?? 0;
  const value = block.subarray(at + 2, at + 2 + (length & 0x7f));
  if ((length & 0x80) === 0) return value.toString('latin1');
  let bits = [...value].map((byte) => byte.toString(2).padStart(8, '0')).join('');
  let status = '';
  while (status.length < 3) {
    const digit = DIGITS.findIndex((code) => bits.startsWith(code));
    if (digit === -1) return 'no status';
    status += digit;
    bits = bits.slice(DIGITS[digit]?.length);
  }
  return status;
}
