/** The "server under test" that connectconformance starts: tells it where the running service listens. */
const [host = '', port = '', certificate = ''] = process.argv.slice(2);

function field(number: number, value: string): Buffer {
  const length = Buffer.byteLength(value);
  const prefix = [(number << 3) | 2, (length & 0x7f) | 0x80, length >> 7];
  return length === 0 ? Buffer.of() : Buffer.concat([Buffer.from(prefix), Buffer.from(value)]);
}

const varint = [(Number(port) & 0x7f) | 0x80, ((Number(port) >> 7) & 0x7f) | 0x80, Number(port) >> 14];
// A ServerCompatResponse: host, port, the certificate.
const message = Buffer.concat([field(1, host), Buffer.from([2 << 3, ...varint]), field(3, certificate)]);
const length = Buffer.alloc(4);
length.writeUInt32BE(message.length);
process.stdout.write(Buffer.concat([length, message]));
process.stdin.resume();
setInterval(() => undefined, 60_000);
