/** Errors and messages over gRPC: the canonical code, the same message as over REST, standard details. */
import { createHook } from 'node:async_hooks';
import { once } from 'node:events';
import { gzipSync } from 'node:zlib';
import { create, type DescField, type DescMessage, ScalarType, toBinary } from '@bufbuild/protobuf';
import { TimestampSchema } from '@bufbuild/protobuf/wkt';
import { status as Code } from '@grpc/grpc-js';
import { HealthService } from '../../gen/grpc/health/v1/health.ts';
import { EventServiceService as Events } from '../../gen/petstore/v1/events.ts';
import { OrderServiceService as Orders } from '../../gen/petstore/v1/orders.ts';
import { PetServiceService as Pets } from '../../gen/petstore/v1/pets.ts';
import { rawGrpc } from '../support/calls/http2.ts';
import { grpcFrame, grpcHeaders, openSession, targetOf } from '../support/calls/sockets.ts';
import { PUBLIC } from '../support/contract/resources.ts';
import { serverTest } from '../support/service/shared-stack.ts';

const test = serverTest();

const NOBODY = 999_999n;
const { INVALID_ARGUMENT, UNIMPLEMENTED } = Code;

test('Violations - every error about a field has a BadRequest, with its name in protobuf', async (t) => {
  const { grpc } = t.context;
  const pet = { name: 'Tom', categoryId: NOBODY };
  const petId = await grpc.pet();
  for (const [failing, fields] of [
    [grpc.failure(Pets.createPet, { pet: { name: '' } }), ['pet.name', 'pet.category_id']],
    [grpc.failure(Pets.createPet, { pet }), ['pet.category_id']],
    [grpc.failure(Pets.replacePet, { petId, pet }), ['pet.category_id']],
    [grpc.failure(Pets.updatePet, { petId, pet }), ['pet.category_id']],
    [grpc.failure(Pets.listPets, { pageToken: 'x' }), ['page_token']],
    [grpc.failure(Orders.placeOrder, { order: { petId: NOBODY } }), ['order.pet_id']],
    [grpc.failure(Orders.placeOrder, { order: { shipDate: { seconds: 0n, nanos: -1 } } }), ['order.ship_date']],
    [grpc.failure(Events.listEvents, { after: NOBODY }), ['after']],
    [grpc.failure(Pets.getPet, { petId: NOBODY }), []],
  ] as const) {
    const { fields: named, message } = await failing;
    t.deepEqual(named, fields, message);
  }
});

test('Messages - one in thousands of frames is malformed, and the rest of it is not read', async (t) => {
  const session = await openSession(targetOf(t.context.address, '127.0.0.1'));
  t.teardown(() => session.destroy());
  for (const [size, status] of [
    [1_500, '0'],
    [5_000, String(INVALID_ARGUMENT)],
  ] as const) {
    const stream = session.request(grpcHeaders('/petstore.v1.PetService/ListPets', t.context.key));
    const fields: Record<string, unknown> = {};
    for (const event of ['response', 'trailers']) stream.on(event, (more: object) => Object.assign(fields, more));
    stream.on('error', () => undefined).resume();
    const closed = once(stream, 'close');
    // An unknown field as long as the message, a byte in each frame.
    const message = Buffer.concat([Buffer.of(0x7a, (size & 0x7f) | 0x80, size >> 7), Buffer.alloc(size)]);
    let sent = 0;
    for (const byte of grpcFrame(message)) {
      if (stream.destroyed || stream.closed) break;
      await new Promise((resolve) => stream.write(Buffer.of(byte), resolve));
      sent += 1;
    }
    stream.end();
    await closed;
    t.deepEqual([fields['grpc-status'], sent > size], [status, status === '0'], `${sent} of ${size} frames`);
  }
});

test('Messages - hundreds of compressed ones in one frame do not occupy the server', async (t) => {
  const compressed = gzipSync(Buffer.alloc(0));
  const message = Buffer.concat([Buffer.of(1, 0, 0, 0, compressed.length), compressed]);
  let decompressors = 0;
  const count = createHook({
    init(_id, type) {
      if (type === 'ZLIB') decompressors += 1;
    },
  }).enable();
  t.teardown(() => count.disable());
  const body = Buffer.concat(Array.from({ length: 600 }, () => message));
  const call = { path: HealthService.check.path, headers: { 'grpc-encoding': 'gzip' }, body };
  t.is((await rawGrpc(targetOf(t.context.address, '127.0.0.1'), call)).status, UNIMPLEMENTED);
  t.true(decompressors < 10, `${decompressors} decompressors`);
});

/** Python's and Java's clients take 8 KiB of headers. */
const MAX_HEADERS = 6 * 1_024;
/** What HTTP/2 counts for a header besides its name and value. */
const OVERHEAD = 32;

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
      const size = [...answer.headers].reduce((sum, [name, value]) => sum + name.length + value.length + OVERHEAD, 0);
      t.true(size < MAX_HEADERS, `${path}: ${size} bytes`);
    }
  }
});
