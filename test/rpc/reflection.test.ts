import { type ServiceError, status } from '@grpc/grpc-js';
import anyTest, { type TestFn } from 'ava';
import { askInBytes, filesOf, listServices } from '../support/reflection.ts';
import { SERVICES } from '../support/resources.ts';
import { startTestServer, type TestServer } from '../support/server.ts';

const test = anyTest as TestFn<TestServer>;

test.before(async (t) => {
  t.context = await startTestServer();
});
test.after.always((t) => t.context.close());

const VERSIONS = ['v1', 'v1alpha'] as const;

for (const version of VERSIONS) {
  test(`Reflection ${version} - lists health and petstore.v1's services alone, without a key`, async (t) => {
    const listed = await listServices(t.context.address, version);
    t.deepEqual(listed.sort(), ['grpc.health.v1.Health', ...SERVICES].sort());
  });

  test(`Reflection ${version} - gives every file that a client needs to call a method`, async (t) => {
    const files = await filesOf(t.context.address, version, 'petstore.v1.OrderService');
    const names = new Set(files.map(({ name }) => name));
    t.true(names.has('petstore/v1/orders.proto'));
    for (const { dependency } of files) for (const name of dependency) t.true(names.has(name), name);
  });

  test(`Reflection ${version} - finds messages and methods, and nothing for an unknown name`, async (t) => {
    for (const symbol of ['petstore.v1.Pet', 'petstore.v1.PetService.GetPet', 'petstore.v1.PetStatus']) {
      t.true((await filesOf(t.context.address, version, symbol)).length > 0, symbol);
    }
    t.deepEqual(await filesOf(t.context.address, version, 'petstore.v1.Dragon'), []);
  });

  test(`Reflection ${version} - a malformed request is INVALID_ARGUMENT, and the next one works`, async (t) => {
    const noRequest = Buffer.from([0xff, 0xff, 0xff]);
    const error = await t.throwsAsync<ServiceError>(askInBytes(t.context.address, version, noRequest));
    t.is(error?.code, status.INVALID_ARGUMENT);
    t.true((await listServices(t.context.address, version)).length > 0);
  });
}
