/** A session over gRPC-Web with the client that protobuf-ts has generated. */
import { GrpcWebFetchTransport } from '@protobuf-ts/grpcweb-transport';
import type { RpcError } from '@protobuf-ts/runtime-rpc';
import { BadRequest } from './google/rpc/error_details.ts';
import { Status } from './google/rpc/status.ts';
import { CategoryServiceClient, EventServiceClient } from './petstore.client.ts';

const { API: baseUrl = '', API_KEY } = process.env;
const transport = new GrpcWebFetchTransport({
  baseUrl,
  format: 'binary',
  meta: { authorization: `Bearer ${API_KEY}` },
});
const categories = new CategoryServiceClient(transport);
const { response: cats } = await categories.createCategory({ category: { name: 'Cats' } });
await categories.createCategory({ category: { name: 'Dogs' } });
const { response: page } = await categories.listCategories({ limit: 1, pageToken: '' });
const { response: second } = await categories.listCategories({ limit: 1, pageToken: page.nextPageToken });
const isNext = Number(page.categories[0]?.id) < Number(second.categories[0]?.id);
const refused = await categories.createCategory({ category: { name: '' } }).then(undefined, (error: RpcError) => error);
const status = Status.fromBinary(Buffer.from(String(refused.meta['grpc-status-details-bin']), 'base64'));
const bad = status.details.find(({ typeUrl }) => typeUrl.endsWith('BadRequest'));
const field = bad && BadRequest.fromBinary(bad.value).fieldViolations[0]?.field;
const stream = new EventServiceClient(transport).watchEvents({ after: '0', types: ['category.created'] });
for await (const { message } of stream.responses) {
  if (message.oneofKind !== 'event') continue;
  console.log(cats.name, isNext, refused.code, field, message.event.type);
  process.exit();
}
