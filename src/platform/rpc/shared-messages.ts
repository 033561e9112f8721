/** Messages that several streams send: their bytes are made once per protocol, and hold for all calls (`piece`). */
const ENCODED = new WeakMap<object, WeakMap<object, Buffer>>();

/** Consecutive messages that other streams send too. Each is encoded once per protocol. */
export class SharedMessages<Message extends object> {
  #messages: readonly Message[];

  constructor(messages: readonly Message[]) {
    this.#messages = messages;
  }

  /** Once: the messages are gone then, so that their bytes are all that waits for a reader. */
  encode(protocol: object, encode: (message: Message) => Buffer): Buffer {
    const encoded = ENCODED.get(protocol) ?? new WeakMap<object, Buffer>();
    ENCODED.set(protocol, encoded);
    const pieces = this.#messages.map((message) => {
      const bytes = encoded.get(message) ?? joined([encode(message)]);
      encoded.set(message, bytes);
      return bytes;
    });
    this.#messages = [];
    const [first, ...others] = pieces;
    return first !== undefined && others.length === 0 ? first : joined(pieces);
  }
}

/** Joins bytes in memory of their own. Node's pool has pieces of 64 KiB: a few unread bytes would keep one of them. */
function joined(pieces: readonly Buffer[]): Buffer {
  const all = Buffer.allocUnsafeSlow(pieces.reduce((sum, { length }) => sum + length, 0));
  let at = 0;
  for (const piece of pieces) at += piece.copy(all, at);
  return all;
}
