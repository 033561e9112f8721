// gRPC by grpc-js and proto-loader, which read the proto file when they start.
import { credentials, loadPackageDefinition, Metadata } from '@grpc/grpc-js';
import { loadSync } from '@grpc/proto-loader';

const options = { longs: Number, enums: String, includeDirs: ['.', 'node_modules/google-proto-files'] };
const definition = loadSync(['petstore.proto', 'google/rpc/status.proto', 'google/rpc/error_details.proto'], options);
const { CategoryService, EventService } = loadPackageDefinition(definition).petstore.v1;
const host = new URL(process.env.API).host;
const categories = new CategoryService(host, credentials.createInsecure());
const events = new EventService(host, credentials.createInsecure());
const metadata = new Metadata();
metadata.set('authorization', `Bearer ${process.env.API_KEY}`);
const call = (method, request) =>
  new Promise((resolve, reject) => {
    const deadline = Date.now() + 10_000;
    categories[method](request, metadata, { deadline }, (error, response) =>
      error ? reject(error) : resolve(response),
    );
  });

const stream = events.watchEvents({ types: ['category.created'] }, metadata);
const messages = stream[Symbol.asyncIterator]();
await messages.next(); // the checkpoint: from here on
const cats = await call('createCategory', { category: { name: 'Cats' } });
await call('createCategory', { category: { name: 'Dogs' } });
const page = await call('listCategories', { limit: 1 });
const second = await call('listCategories', { limit: 1, pageToken: page.nextPageToken });
const refused = await call('createCategory', { category: {} }).catch((error) => error);
const decode = (type, bytes) => definition[`google.rpc.${type}`].deserialize(bytes);
const [{ details: found }] = refused.metadata.get('grpc-status-details-bin').map((bytes) => decode('Status', bytes));
const detail = (type) => decode(type, found.find(({ type_url: url }) => url.endsWith(`.${type}`)).value);
const { value } = await messages.next();
const isNext = page.categories[0].id < second.categories[0].id;
const { field } = detail('BadRequest').fieldViolations[0];
console.log(cats.name, isNext, detail('ErrorInfo').reason, field, value.event.type);
stream.once('error', () => undefined); // CANCELLED
stream.cancel();
