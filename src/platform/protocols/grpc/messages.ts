/**
 * The messages of a gRPC request (PROTOCOL-HTTP2.md and compression.md of gRPC). Each begins with a byte that says
 * whether it is compressed, and four for its length.
 */
import { gunzipSync, inflateSync } from 'node:zlib';
import { status as Status } from '@grpc/grpc-js';
import { MAX_BODY_BYTES } from '../../config/constants.ts';
import { type ApiError, apiError, errorSaying } from '../../errors.ts';
import type { MessageReader } from '../../rpc/chain.ts';
import { unreadable } from '../../rpc/errors.ts';

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

  next(hasEnded: boolean): Buffer | undefined {
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
      if (isWhole) return this.#decompressed(bytes.readUInt8(), bytes.subarray(PREFIX_BYTES, end));
    }
    if (hasEnded && this.#bytes > 0) throw unreadable('it ends within a message');
    return undefined;
  }

  #decompressed(flags: number, bytes: Buffer): Buffer {
    if (flags === 0) return bytes;
    const decompress = ENCODINGS.get(this.#encoding);
    if (flags > 1 || decompress === undefined) {
      throw unreadable('a message has flags that can not be', Status.INTERNAL);
    }
    if (bytes.length === 0) return bytes;
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
