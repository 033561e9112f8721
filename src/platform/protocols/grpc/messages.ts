/**
 * The messages of a gRPC request (PROTOCOL-HTTP2.md and compression.md of gRPC). Each begins with a byte that says
 * whether it is compressed, and four for its length.
 */
import { gunzipSync, inflateSync } from 'node:zlib';
import { status as Status } from '@grpc/grpc-js';
import { MAX_BODY_BYTES } from '../../config/constants.ts';
import { type ApiError, apiError, errorSaying } from '../../errors.ts';
import type { MessageReader, ReceivedMessage } from '../../rpc/chain.ts';
import { unreadable } from '../../rpc/errors.ts';

/**
 * The largest compressed message. An empty block of DEFLATE has a table to build, so a message of such blocks costs 40
 * times as much for a byte as another: this one 1 ms. The largest texts of a resource take less when compressed.
 */
const MAX_COMPRESSED_BYTES = 8_192;
const COMPRESSED_COST = 40;

const PREFIX_BYTES = 5;
const NOTHING = Buffer.alloc(0);
const IDENTITY = 'identity';
const ENCODINGS = new Map([
  [IDENTITY, undefined],
  ['deflate', inflateSync],
  ['gzip', gunzipSync],
]);

export class Messages implements MessageReader {
  readonly #encoding: string;
  #chunks: Buffer[] = [];
  #bytes = 0;
  /** How many bytes the next message has with its prefix, as far as is known. */
  #wanted = PREFIX_BYTES;
  maxBytes = MAX_BODY_BYTES;

  constructor(encoding: string = IDENTITY) {
    this.#encoding = encoding;
  }

  add(chunk: Buffer): void {
    this.#chunks.push(chunk);
    this.#bytes += chunk.length;
  }

  next(hasEnded: boolean): ReceivedMessage | undefined {
    if (!ENCODINGS.has(this.#encoding)) {
      throw unreadable(`grpc-encoding must be one of ${[...ENCODINGS.keys()].join(', ')}`, Status.UNIMPLEMENTED);
    }
    if (this.#bytes >= this.#wanted) {
      const [first = NOTHING] = this.#chunks;
      const bytes = this.#chunks.length > 1 ? Buffer.concat(this.#chunks) : first;
      const end = PREFIX_BYTES + bytes.readUInt32BE(1);
      if (end > PREFIX_BYTES + this.maxBytes) throw this.#tooLarge();
      const isWhole = bytes.length >= end;
      const rest = isWhole ? bytes.subarray(end) : bytes;
      [this.#chunks, this.#bytes, this.#wanted] = [[rest], rest.length, isWhole ? PREFIX_BYTES : end];
      if (isWhole) return this.#received(bytes.readUInt8(), bytes.subarray(PREFIX_BYTES, end));
    }
    if (hasEnded && this.#bytes > 0) throw unreadable('it ends within a message');
    return undefined;
  }

  #received(flags: number, bytes: Buffer): ReceivedMessage {
    const asIs = { cost: bytes.length, decompress: () => bytes };
    if (flags === 0) return asIs;
    const decompress = ENCODINGS.get(this.#encoding);
    if (flags > 1 || decompress === undefined) {
      throw unreadable('a message has flags that can not be', Status.INTERNAL);
    }
    if (bytes.length === 0) return asIs;
    if (bytes.length > MAX_COMPRESSED_BYTES) {
      throw errorSaying('BODY_TOO_LARGE', `a compressed message is larger than ${MAX_COMPRESSED_BYTES} bytes`);
    }
    return { cost: COMPRESSED_COST * bytes.length, decompress: () => this.#decompressed(bytes, decompress) };
  }

  #decompressed(bytes: Buffer, decompress: typeof inflateSync): Buffer {
    try {
      return decompress(bytes, { maxOutputLength: this.maxBytes });
    } catch (error) {
      const isTooLarge = error instanceof RangeError; // of more than `maxOutputLength`
      throw isTooLarge ? this.#tooLarge() : unreadable(`a message is not compressed as ${this.#encoding}`);
    }
  }

  #tooLarge(): ApiError {
    if (this.maxBytes === MAX_BODY_BYTES) return apiError('BODY_TOO_LARGE');
    return errorSaying('BODY_TOO_LARGE', `a message is larger than ${this.maxBytes} bytes`);
  }
}
