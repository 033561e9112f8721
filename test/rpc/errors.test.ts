/**
 * Messages over gRPC, which are validated, stored, digested and replayed alike however they are put on the wire; and
 * errors: the canonical code, the same message as over REST, standard details.
 */
import { createHook } from 'node:async_hooks';
import { once } from 'node:events';
import { gzipSync } from 'node:zlib';
import { status as Code, type ServiceError } from '@grpc/grpc-js';
import { HealthService } from '../../gen/grpc/health/v1/health.ts';
import { CategoryServiceService as Categories } from '../../gen/petstore/v1/categories.ts';
import { EventServiceService as Events } from '../../gen/petstore/v1/events.ts';
import { InventoryServiceService as Inventory } from '../../gen/petstore/v1/inventory.ts';
import { OrderServiceService as Orders } from '../../gen/petstore/v1/orders.ts';
import { PetServiceService as Pets } from '../../gen/petstore/v1/pets.ts';
import { grpcFrame, grpcHeaders, rawGrpc, sessionOf } from '../support/calls/http2.ts';
import { newKey } from '../support/contract/retries.ts';
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
    [130, '0'],
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

test('Messages - hundreds of compressed ones in one frame are refused before one is decompressed', async (t) => {
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
  t.is(decompressors, 0);
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

const inHex = (text: string) => Buffer.from(text.replaceAll(' ', ''), 'hex');

/** A message in its shortest form, and others: in pieces, scalars and names twice, unknown fields, long numbers. */
const FORMS = [
  [
    Categories.createCategory,
    '0a 06 0a 04 43 61 74 73',
    ['0a 00 0a 06 0a 04 43 61 74 73', '0a 09 0a 01 00 0a 04 43 61 74 73', '0a 87 80 00 0a 84 00 43 61 74 73'],
    ['c0 3e 01 0a 06 0a 04 43 61 74 73 c2 3e 01 3f', '0a 0c c3 3e 08 01 c4 3e 0a 04 43 61 74 73'],
  ],
  [Categories.createCategory, '0a 02 0a 00', ['0a 05 0a 01 41 0a 00', '0a 03 0a 01 41 0a 02 0a 00']],
  [Orders.placeOrder, '0a 02 18 07', ['0a 03 18 87 00', '0a 04 18 00 18 07', '0a 02 18 00 0a 02 18 07']],
  [Orders.placeOrder, '0a 02 18 00', ['0a 04 18 07 18 00', '0a 02 18 07 0a 02 18 00']],
  [Inventory.setInventory, '08 01 12 02 08 09', ['12 02 08 09 08 01', '08 63 12 00 08 01 12 04 08 00 08 09']],
  [Pets.listPets, '1a 02 01 02', ['18 01 18 02', '1a 01 01 18 02', '18 01 1a 03 82 80 00']],
] as const;

const INVALID: readonly string[] = ['0a 02 0a 00', '0a 02 18 00']; // an empty name, a quantity of 0

test('One reading - every wire form is validated, stored, digested and replayed as that message', async (t) => {
  const { grpc } = t.context;
  await grpc.pet();
  for (const [method, shortest, ...others] of FORMS) {
    const send = async (hex: string, key: string) => {
      const sent = { ...method, requestSerialize: () => inHex(hex) };
      try {
        const metadata = { 'idempotency-key': key };
        const { message, headers } = await grpc.exchange<object, object>(sent, {}, { metadata });
        return { said: { ...message, id: 0n }, id: Reflect.get(message, 'id'), etag: headers.get('etag') };
      } catch (error) {
        return { said: (error as ServiceError).details, id: undefined, etag: [] };
      }
    };
    const key = newKey();
    const first = await send(shortest, key);
    for (const form of others.flat()) {
      t.deepEqual(await send(form, key), first, `${method.path} ${form}`);
      t.deepEqual((await send(form, newKey())).said, first.said, `${method.path} ${form}`);
    }
    t.is(typeof first.said === 'string', INVALID.includes(shortest), shortest);
  }
});

test('One reading - a field of a wrong wire type or over the end, or 1,001 of them, are MALFORMED_BODY', async (t) => {
  const { grpc } = t.context;
  const wrong = [
    ...['ff', '08', '08 80', '9a 06 7f'].map((bytes) => [Categories.listCategories.path, bytes] as const),
    [Categories.createCategory.path, '0a 04 0a 02 ff 41'], // a name that is no UTF-8
    [Pets.createPet.path, '7b'.repeat(60_000)], // groups of an unknown field, each opened in the one before
    [Categories.listCategories.path, '78 01'.repeat(1_001)], // more fields than a message has
    [Pets.listPets.path, `1a e9 07 ${'01'.repeat(1_001)}`], // the same, packed
    [Categories.createCategory.path, '08 01'], // a message as a number
    [Categories.createCategory.path, '0a 08 08 03 43 61 74 73 12 00'], // a name as a number
    [Categories.createCategory.path, '0b 0c'], // a message as a group
    [Categories.createCategory.path, '0a 03 0a 04 43 61 74 73'], // a name that is longer than its category
    [Orders.placeOrder.path, '0a 05 1d 81 00 78 01'], // a quantity as fixed32, which read as a number is 1
    [Pets.listPets.path, '1a 01 81 7a 08 81 00 78 01 78 01 78 01'], // a packed list that ends within a number
    [Pets.listPets.path, '19 01 00 00 00 00 00 00 00'], // an id as fixed64
  ] as const;
  for (const [path, hex] of wrong) {
    const { code, reason, message } = await grpc.failureOfBytes(path, inHex(hex));
    t.deepEqual([code, reason], [INVALID_ARGUMENT, 'MALFORMED_BODY'], `${path} ${hex}`);
    t.regex(message, /^the request body can't be read: it is no petstore\.v1\.\w+Request$/);
  }
});
