/** The largest error of every operation fits into what clients read: Python's and Java's take 8 KiB of headers. */
import { create, type DescField, type DescMessage, ScalarType, toBinary } from '@bufbuild/protobuf';
import { TimestampSchema } from '@bufbuild/protobuf/wkt';
import { rawGrpc } from '../support/calls/http2.ts';
import { grpcFrame, targetOf } from '../support/calls/sockets.ts';
import { PUBLIC } from '../support/contract/resources.ts';
import { serverTest } from '../support/service/shared-stack.ts';

const test = serverTest();
const MAX_HEADERS = 6 * 1_024;
/** What HTTP/2 counts for a header besides its name and value. */
const OVERHEAD = 32;

const sizeOf = (headers: Iterable<readonly [string, string]>) =>
  [...headers].reduce((sum, [name, value]) => sum + name.length + value.length + OVERHEAD, 0);

/** A value that its rule refuses. */
function wrong(field: DescField): unknown {
  const one = (): unknown => {
    if (field.message?.typeName === TimestampSchema.typeName) return { seconds: 2n ** 62n, nanos: -1 };
    if (field.message !== undefined) return wrongMessage(field.message);
    if (field.enum !== undefined) return 99;
    if (field.scalar === ScalarType.STRING) return '\0猫'.repeat(2_001);
    if (field.scalar === ScalarType.INT32) return -1;
    return field.scalar === ScalarType.BOOL ? true : 1n;
  };
  return field.fieldKind === 'list' ? Array.from({ length: field.scalar === ScalarType.STRING ? 8 : 400 }, one) : one();
}

function wrongMessage({ fields }: DescMessage): Record<string, unknown> {
  return Object.fromEntries(fields.map((field) => [field.localName, wrong(field)]));
}

test('Errors - the largest of every operation has less than 6 KiB of headers and trailers', async (t) => {
  const { address, key } = t.context;
  const target = targetOf(address, '127.0.0.1');
  const headers = { 'x-request-id': 'i'.repeat(128), 'if-match': 'x'.repeat(3_000), 'idempotency-key': 'a,b' };
  for (const { path, input } of PUBLIC) {
    const letters = { ...wrongMessage(input), types: [...'pet.created and others'] };
    for (const message of [wrongMessage(input), ...(path.endsWith('Events') ? [letters] : [])]) {
      const body = grpcFrame(toBinary(input, create(input, message as never)));
      const answer = await rawGrpc(target, { path, key, headers, body, giveUpMs: 5_000 });
      const size = sizeOf(answer.headers);
      t.true(size < MAX_HEADERS, `${path}: ${size} bytes`);
    }
  }
});
