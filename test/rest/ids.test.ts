/**
 * The least and the greatest id that a message can have, over gRPC and in page tokens, and greater ones in a header: a
 * mistake, or nothing that there is, and never a failure. PostgreSQL compares an id with nothing but an int64.
 */
import { ScalarType } from '@bufbuild/protobuf';
import { status as Code } from '@grpc/grpc-js';
import { loadOperations } from '../../src/platform/proto/operations.ts';
import { EVENT_STREAM, LISTS, overGrpc, PUBLIC } from '../support/contract/resources.ts';
import { postgresMissing } from '../support/machine/postgres.ts';
import { sharing } from '../support/service/sharing.ts';
import { onPostgres, startTestStack } from '../support/service/stack.ts';

const EDGES = [-(2n ** 63n), -1n, 2n ** 63n - 1n];

const test = sharing(postgresMissing, async (t) => startTestStack(t, await onPostgres(t)));

test('Ids - the least, the greatest and greater ones, wherever they can be, are never a failure', async (t) => {
  const { grpc, operator, rest } = t.context;
  for (const id of [2n ** 63n, 10n ** 19n - 1n]) {
    const { status } = await rest.get(EVENT_STREAM?.template ?? '/', { headers: { 'last-event-id': `${id}` } });
    t.true(status < 500, `${status}`);
  }
  const operations = [...loadOperations().byPath.values()].filter(({ isStream }) => !isStream);
  for (const operation of operations) {
    const isAdmin = operation.path.startsWith('/apiplatform.admin.');
    if (!isAdmin && !PUBLIC.some(({ path }) => path === operation.path)) continue;
    const integers = operation.input.fields.filter(({ scalar }) => scalar === ScalarType.INT64);
    const { pages = 0 } = LISTS.find(({ path }) => path === operation.path) ?? {};
    for (const edge of EDGES) {
      const ids = integers.map(({ jsonName, fieldKind }) => [jsonName, fieldKind === 'list' ? [`${edge}`] : `${edge}`]);
      const token = Buffer.alloc(9, pages);
      token.writeBigInt64BE(edge, 1);
      for (const more of pages === 0 ? [{}] : [{}, { pageToken: token.toString('base64url') }]) {
        const method = overGrpc(operation, { ...Object.fromEntries(ids), ...more });
        const code = await (isAdmin ? operator : grpc).call(method, undefined).then(
          () => Code.OK,
          (error: { code: Code }) => error.code,
        );
        t.false([Code.INTERNAL, Code.UNKNOWN].includes(code), `${operation.path} with ${edge} is ${code}`);
      }
    }
  }
});
