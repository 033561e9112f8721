/**
 * Ids and places in lists that callers send, up to digits which no int64 has: a mistake, or nothing that there is, and
 * never a failure. On both engines: what PostgreSQL compares with an id must be an int64.
 */
import { type DescField, ScalarType } from '@bufbuild/protobuf';
import { status as Code } from '@grpc/grpc-js';
import type { ExecutionContext } from 'ava';
import { loadOperations, type Operation } from '../../src/platform/proto/operations.ts';
import type { GrpcCaller } from '../support/calls/grpc-caller.ts';
import type { RestRequest } from '../support/calls/rest-client.ts';
import { EVENT_STREAM, LISTS, overGrpc, PUBLIC } from '../support/contract/resources.ts';
import { postgresMissing } from '../support/machine/postgres.ts';
import { testUnless } from '../support/machine/programs.ts';
import { onPostgres, startTestStack, type TestStack } from '../support/service/stack.ts';

const [LEAST, GREATEST] = [-(2n ** 63n), 2n ** 63n - 1n];
const SIZES = [GREATEST, 2n ** 63n, 2n ** 64n - 1n, 2n ** 64n, 10n ** 19n - 1n, 10n ** 19n, 10n ** 39n];
const DIGITS = SIZES.flatMap((size) => [`${size}`, `-${size}`]);

/** The fields that are an int64 or a list of them, with this value. */
function filled(fields: Iterable<DescField>, value: string): Readonly<Record<string, string | string[]>> {
  const integers = [...fields].filter(({ scalar }) => scalar === ScalarType.INT64);
  return Object.fromEntries(
    integers.map(({ jsonName, fieldKind }) => [jsonName, fieldKind === 'list' ? [value] : value]),
  );
}

async function tryIds(t: ExecutionContext, { rest, grpc, operator }: TestStack): Promise<void> {
  const send = async (method: string, path: string, request?: RestRequest) => {
    const { status, text } = await rest.send(method, path, request);
    t.true(status < 500, `${method} ${path} ${JSON.stringify(request)} is a ${status}: ${text}`);
  };
  const call = async (caller: GrpcCaller, operation: Operation, value: bigint) => {
    const method = overGrpc(operation, filled(operation.input.fields, `${value}`));
    const code = await caller.call(method, undefined).then(
      () => Code.OK,
      (error: { code: Code }) => error.code,
    );
    t.false([Code.INTERNAL, Code.UNKNOWN].includes(code), `${operation.path} with ${value} is ${code}`);
  };
  for (const { method, template, input, bodyField, queryParameters } of PUBLIC) {
    const body = bodyField === '*' ? input : input.fields.find(({ name }) => name === bodyField)?.message;
    for (const digits of DIGITS) {
      const path = template.replace(/\{\w+\}/g, digits);
      const json = body && filled(body.fields, digits);
      if (path !== template || Object.keys(json ?? {}).length > 0) await send(method, path, json && { json });
      for (const name of Object.keys(filled(queryParameters.values(), digits)))
        await send(method, `${path}?${name}=${digits}`);
    }
  }
  for (const { pages, method, template } of LISTS)
    for (const edge of [LEAST, -1n, GREATEST]) {
      const token = Buffer.alloc(9, pages);
      token.writeBigInt64BE(edge, 1);
      await send(method, `${template.replace(/\{\w+\}/g, '1')}?pageToken=${token.toString('base64url')}`);
    }
  for (const id of EVENT_STREAM === undefined ? [] : DIGITS)
    await send('GET', EVENT_STREAM?.template ?? '', { headers: { 'last-event-id': id } });
  const operations = [...loadOperations().byPath.values()].filter(({ isStream }) => !isStream);
  for (const value of [LEAST, GREATEST]) {
    for (const operation of PUBLIC) if (!operation.isStream) await call(grpc, operation, value);
    for (const operation of operations)
      if (operation.path.startsWith('/apiplatform.admin.')) await call(operator, operation, value);
  }
}

const TITLE = 'Ids - of any digits, in paths, parameters, bodies, page tokens and headers, are never a failure';

testUnless(undefined)(`${TITLE}, on SQLite`, async (t) => tryIds(t, await startTestStack(t, { DATABASE_URL: '' })));

testUnless(postgresMissing)(`${TITLE}, on PostgreSQL`, async (t) =>
  tryIds(t, await startTestStack(t, await onPostgres(t))),
);
