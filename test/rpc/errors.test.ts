/** Errors and messages over gRPC: the canonical code, the same message as over REST, standard details. */
import { createHook } from 'node:async_hooks';
import { once } from 'node:events';
import { gzipSync } from 'node:zlib';
import { status as Code } from '@grpc/grpc-js';
import { HealthService } from '../../gen/grpc/health/v1/health.ts';
import { EventServiceService as Events } from '../../gen/petstore/v1/events.ts';
import { OrderServiceService as Orders } from '../../gen/petstore/v1/orders.ts';
import { PetServiceService as Pets } from '../../gen/petstore/v1/pets.ts';
import { rawGrpc } from '../support/calls/http2.ts';
import { grpcFrame, grpcHeaders, sessionOf } from '../support/calls/sockets.ts';
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
    // What RFC 3339 can't write, from before the year 1 to after 9999.
    ...[
      { seconds: 0n, nanos: -1 },
      { seconds: 0n, nanos: 1e9 },
      { seconds: -62_135_596_801n, nanos: 0 },
      { seconds: 253_402_300_800n, nanos: 0 },
    ].map((shipDate) => [grpc.failure(Orders.placeOrder, { order: { shipDate } }), ['order.ship_date']] as const),
    [grpc.failure(Events.listEvents, { after: NOBODY }), ['after']],
    [grpc.failure(Pets.getPet, { petId: NOBODY }), []],
  ] as const) {
    const { fields: named, message } = await failing;
    t.deepEqual(named, fields, message);
  }
});

test('Messages - one in hundreds of frames is malformed, and the rest of it is not read', async (t) => {
  const session = await sessionOf(t, t.context.address);
  for (const [size, status] of [
    [400, '0'],
    [1_000, String(INVALID_ARGUMENT)],
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
  t.is((await rawGrpc(t.context.address, call)).status, UNIMPLEMENTED);
  t.true(decompressors < 10, `${decompressors} decompressors`);
});

test('Errors - the largest has less than 6 KiB of headers and trailers', async (t) => {
  const { address, key } = t.context;
  const types = [...'pet.created and others']; // each is refused: of all operations its error is the largest
  const body = grpcFrame(Events.listEvents.requestSerialize({ types, after: 0n, limit: undefined }));
  const headers = { 'x-request-id': 'i'.repeat(128) };
  const answer = await rawGrpc(address, { path: Events.listEvents.path, key, headers, body });
  t.is(answer.status, INVALID_ARGUMENT);
  // HTTP/2 counts 32 bytes for a header besides its name and value.
  const size = [...answer.headers].reduce((sum, [name, value]) => sum + name.length + value.length + 32, 0);
  t.true(size > 3_072 && size < 6_144, `${size} bytes`);
});
