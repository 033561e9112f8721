/** The "server under test" that connectconformance starts: tells it where the running service listens. */
import { BinaryWriter, WireType } from '@bufbuild/protobuf/wire';

const [host = '', port = '', certificate = ''] = process.argv.slice(2);

// A ServerCompatResponse: host, port, the certificate.
const message = new BinaryWriter().tag(1, WireType.LengthDelimited).string(host);
message.tag(2, WireType.Varint).uint32(Number(port));
message.tag(3, WireType.LengthDelimited).string(certificate);
const bytes = message.finish();
const length = Buffer.alloc(4);
length.writeUInt32BE(bytes.length);
process.stdout.write(Buffer.concat([length, bytes]));
process.stdin.resume();
setInterval(() => undefined, 60_000);
