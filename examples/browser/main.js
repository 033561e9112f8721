import { Code, ConnectError, createClient } from '@connectrpc/connect';
import { createGrpcWebTransport } from '@connectrpc/connect-web';
import { CategoryService } from './gen/petstore_pb.js';

const form = document.querySelector('form');
const output = document.querySelector('output');

form.addEventListener('submit', async (event) => {
  event.preventDefault();
  const { api, key, name } = Object.fromEntries(new FormData(form));
  const transport = createGrpcWebTransport({ baseUrl: api, defaultTimeoutMs: 10_000 });
  const categories = createClient(CategoryService, transport);
  const headers = { authorization: `Bearer ${key}`, 'idempotency-key': crypto.randomUUID() };
  try {
    const category = await categories.createCategory({ category: { name } }, { headers });
    output.value = `${category.id} ${category.name}`;
  } catch (error) {
    const { code, rawMessage } = ConnectError.from(error);
    output.value = `${Code[code]}: ${rawMessage}`;
  }
});
