/**
 * pg's client, for a server or a proxy that breaks the protocol. pg's parser throws then, in a listener, which would
 * end this process; or it reads for ever, as it takes the end of its bytes for empty texts. Here the connection ends.
 */
import type { Duplex } from 'node:stream';
import { Client, type ClientConfig } from 'pg';
import { BufferReader } from 'pg-protocol/dist/buffer-reader.js';

interface Reader {
  readonly buffer: Buffer;
  readonly offset: number;
  string(length: number): string;
}

const reader = BufferReader.prototype as unknown as Reader;
const { string } = reader;
reader.string = function checked(this: Reader, length) {
  if (this.offset + length > this.buffer.length) throw new RangeError('a message ends within a text');
  return string.call(this, length);
};

export class PostgresClient extends Client {
  constructor(config?: ClientConfig) {
    super(config);
    const { connection } = this as unknown as { connection: { attachListeners(stream: Pick<Duplex, 'on'>): void } };
    const attach = connection.attachListeners.bind(connection);
    connection.attachListeners = (stream) => attach(guarded(stream as Duplex));
  }
}

/** A stream whose listeners may throw: that ends it. */
function guarded(stream: Duplex): Pick<Duplex, 'on'> {
  const on = (event: string, listen: (...args: readonly unknown[]) => void) =>
    stream.on(event, (...args) => {
      try {
        listen(...args);
      } catch (cause) {
        stream.destroy(new Error("the database's response is not of the protocol", { cause }));
      }
    });
  return { on } as Pick<Duplex, 'on'>;
}
