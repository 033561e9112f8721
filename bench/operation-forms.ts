/**
 * In which forms a caller with a key can send each operation: what the contract and the wire admit of it and makes it
 * dear. They follow from the proto files: a new operation, filter, list or body has its forms at once.
 */
import { randomUUID } from 'node:crypto';
import { type DescField, fromJson, getOption, type JsonObject, ScalarType, toBinary } from '@bufbuild/protobuf';
import { field as fieldRules } from '@bufbuild/protovalidate/gen/buf/validate/validate_pb.js';
import { pageTokens } from '../src/platform/rpc/page-token.ts';
import { RESOURCES } from '../test/shop/resources.ts';
import { grpcFrame } from '../test/support/calls/http2.ts';
import { LISTS, PUBLIC, type PublicOperation, requestTo } from '../test/support/contract/resources.ts';
import {
  type Form,
  filled,
  GRPC_TYPE,
  inFrames,
  JSON_TYPE,
  LONG,
  type Load,
  longer,
  MANY_FRAMES,
  MEMBERS,
  ofGrpc,
  type Priced,
} from './forms.ts';

const PROTO_TYPE = { 'content-type': 'application/proto' };
const UNKNOWN_ID = '999999999';

/** A request of the operation: its path, and if it has one its body, and the dearest. */
interface Target {
  readonly path: string;
  readonly json: object;
  readonly dearest: object;
}

type Make = (how: string, send: (target: Target) => Load, path?: string) => Form;

/** Forms of the operation: its own path and body, or what `send` makes of them. Over gRPC it has another path. */
function makerOf(operation: PublicOperation, row = nameOf(operation)): Make {
  const { service, method, path: grpcPath, bodyField } = operation;
  return (how, send, fixed) => ({
    row,
    how,
    prepare: async ({ rest }) => {
      const { path, json = {} } = await requestTo(rest, operation);
      const dearest = bodyField === undefined ? undefined : await RESOURCES[service]?.dearest?.(rest);
      const target = { path, json, dearest: { ...json, ...dearest } };
      return () => {
        const { query = '', headers = {}, ...load } = send(target);
        return { method: fixed === grpcPath ? 'POST' : method, path: (fixed ?? path) + query, headers, ...load };
      };
    },
  });
}

const nameOf = ({ method, template }: PublicOperation) => `${method} ${template}`;

function formsOf(operation: PublicOperation): Form[] {
  const { method, template, path, bodyField, idName, takesIdempotencyKey, isStream, input } = operation;
  const make = makerOf(operation);
  // A POST makes another one, and other writes change the same one in turn.
  const plain = ({ dearest }: Target, more: Load['headers'] = {}): Load => {
    if (bodyField === undefined) return {};
    return { headers: { ...JSON_TYPE, ...more }, body: [asBytes(method === 'POST' ? dearest : changed(dearest))] };
  };
  const withKey = (how: string, key: () => string) =>
    make(how, (target) => plain(target, { 'idempotency-key': key() }));
  const repeated = randomUUID();
  const lists = input.fields.filter(({ fieldKind }) => fieldKind === 'list');
  if (isStream) return streamForms(operation, make);
  return [
    method === 'DELETE' ? deletion(operation) : make('', plain),
    ...(idName === undefined ? [] : [make('nothing', plain, template.replace(`{${idName}}`, UNKNOWN_ID))]),
    ...(takesIdempotencyKey ? [withKey('a new idempotency key', randomUUID)] : []),
    ...(takesIdempotencyKey ? [withKey('a replay', () => repeated)] : []),
    ...lists.map((list) => make(`gRPC, 64 KB of ${list.name}`, () => ofItems(list), path)),
    ...listForms(operation, make),
  ];
}

/** What any operation of an HTTP method may carry, over each protocol: rows of their own. */
function loadForms(operation: PublicOperation): Form[] {
  const { method, path, bodyField } = operation;
  const over = (protocol: string) => makerOf(operation, `${protocol}, as ${method}`);
  const [rest, grpc, connect] = [over('REST'), over('gRPC'), over('Connect')] as const;
  const message = (target: Target) => messageOf(operation, target.path, target.json);
  /** The JSON of the operation, with these members. */
  const body = ({ json }: Target, members = '') => {
    const own = bodyField === undefined ? '' : JSON.stringify(changed(json)).slice(1, -1);
    return [Buffer.from(`{${[own, members].filter(Boolean).join()}}`)];
  };
  return [
    ...Object.entries(MEMBERS).map(([name, members]) => ({
      ...rest(`64 KB of ${name}`, (target) => ({ headers: JSON_TYPE, body: body(target, members) })),
      boundedBy: '50 ms a second by account',
    })),
    ...Object.entries(LONG).map(([name, { headers, query }]) =>
      rest(name, (target) => ({ query, headers: { ...JSON_TYPE, ...headers }, body: body(target) })),
    ),
    ...Object.keys(ofGrpc(Buffer.of())).map((name) =>
      grpc(name, (target) => ofGrpc(message(target))[name] ?? {}, path),
    ),
    rest('frames of a byte', (target) => ({
      ...{ headers: JSON_TYPE, isHttp2: true },
      body: inFrames(Buffer.from(body(target).join().padEnd(MANY_FRAMES))),
    })),
    connect('64 KB', (target) => ({ headers: PROTO_TYPE, body: [filled(message(target))] }), path),
    connect(
      'frames of a byte',
      (target) => ({ headers: PROTO_TYPE, isHttp2: true, body: inFrames(longer(message(target))) }),
      path,
    ),
  ];
}

function asBytes(json: object): Buffer {
  return Buffer.from(JSON.stringify(json));
}

/** Other values for texts and numbers, so that a write changes its row. Ids stay. */
function changed(json: object): object {
  const other = (name: string, value: unknown) => {
    if (typeof value === 'string') return randomUUID().slice(0, value.length) + value.slice(36);
    return typeof value === 'number' && !name.endsWith('Id') ? 1 + Math.floor(Math.random() * 1_000) : value;
  };
  return Object.fromEntries(Object.entries(json).map(([name, value]) => [name, other(name, value)]));
}

/** The request as a message of Protobuf. */
function messageOf({ input, idName, bodyField }: PublicOperation, path: string, json: object): Uint8Array {
  const id = idName === undefined ? {} : { [idName]: /\d+/.exec(path)?.[0] ?? '1' };
  return toBinary(input, fromJson(input, { ...id, ...(bodyField && { [bodyField]: json as JsonObject }) }));
}

/** As many items of a list as a message has room for. */
function ofItems({ number, scalar }: DescField): Load {
  const tag = (number << 3) | 2;
  const texts = Buffer.alloc(64_000, Buffer.of(tag, 0));
  const packed = Buffer.concat([Buffer.of(tag, 0x80, 0xf4, 0x03), Buffer.alloc(64_000, 1)]);
  return { headers: GRPC_TYPE, body: [grpcFrame(scalar === ScalarType.STRING ? texts : packed)] };
}

/** What is to be deleted is made before, which counts as well. */
function deletion(operation: PublicOperation): Form {
  const { method } = operation;
  let requests = 0;
  const prepare: Form['prepare'] = async ({ maker }) => {
    const before = maker.requests;
    await requestTo(maker, operation);
    requests = 1 + maker.requests - before;
    return async () => ({ method, path: (await requestTo(maker, operation)).path, headers: {} });
  };
  return { row: nameOf(operation), how: 'with the POST before it', counts: () => requests, prepare };
}

/** The values of a filter that select differently: those that the proto files name; an id, and one of nothing. */
function valuesOf(field: DescField): readonly string[] {
  if (field.enum !== undefined) return field.enum.values.slice(1).map(({ name }) => name);
  if (field.scalar === ScalarType.BOOL) return ['true', 'false'];
  const { type } = getOption(field, fieldRules);
  const items = type.case === 'repeated' ? type.value.items?.type : undefined;
  return items?.case === 'string' ? items.value.in : ['1', UNKNOWN_ID];
}

/** Pages of a list: each selection, from the start and from the middle; the last page, small pages, and ids. */
function listForms(operation: PublicOperation, make: Make): Form[] {
  const { response, queryParameters, template, idList } = operation;
  if (response.list === undefined) return [];
  const isFilter = (name: string) => !['limit', response.next?.parameter, idList?.jsonName].includes(name);
  const selections = [...queryParameters]
    .filter(([name]) => isFilter(name))
    .reduce<readonly string[]>(
      (all, [name, field]) => all.flatMap((some) => [some, ...valuesOf(field).map((one) => `${some}&${name}=${one}`)]),
      ['?limit=100'],
    );
  const from = (place: keyof Awaited<ReturnType<typeof placesIn>>, query: string): Form => {
    const form = make(`${query}&${response.next?.parameter}= ${place}`, () => ({}));
    const prepare: Form['prepare'] = async (service) => {
      const path = `${template}${query}&${(await placesIn(service, operation))[place]}`;
      return () => ({ method: 'GET', path, headers: {} });
    };
    return { ...form, prepare };
  };
  const ids = Array.from({ length: 100 }, (_, index) => `${idList?.jsonName}=${1 + index * 997}`).join('&');
  return [
    ...selections.flatMap((query) => [make(query, () => ({ query })), from('middle', query)]),
    from('last', '?limit=100'),
    from('middle', '?limit=1'),
    ...(idList === undefined ? [] : [make(`100 ${idList.jsonName}=`, () => ({ query: `?${ids}` }))]),
  ];
}

/** The query parameters with which a list begins in the middle, and at its last whole page. */
async function placesIn({ rest }: Pick<Priced, 'rest'>, { path, template, response }: PublicOperation) {
  const { parameter = '' } = response.next ?? {};
  const tokens = LISTS.find((list) => list.path === path)?.pages;
  const place = (id: number) =>
    `${parameter}=${tokens === undefined ? id : pageTokens(tokens).next({ rows: [id], hasMore: true }, BigInt)}`;
  const page = async (query = '') => (await rest.get(`${template}?limit=1${query}`)).body;
  const first = await page();
  const low = Number(first[0]?.id ?? 0);
  let [reached, beyond] = [low, low + 2 ** 24];
  while (beyond - reached > 1) {
    const id = Math.floor((reached + beyond) / 2);
    if ((await page(`&${place(id)}`)).length > 0) reached = id;
    else beyond = id;
  }
  return { middle: place(Math.floor((low + reached) / 2)), last: place(Math.max(low, reached - 99)) };
}

/** A second of a stream that lags, from the oldest event on, over REST and gRPC; and of events that do not come. */
function streamForms({ queryParameters, path, input, service }: PublicOperation, make: Make): Form[] {
  const list = PUBLIC.find((one) => one.service === service && one.response.list !== undefined);
  const types = [...queryParameters].filter(([, { fieldKind }]) => fieldKind === 'list');
  const rare = types.map(([name, field]) => [name, valuesOf(field).slice(-1)] as const);
  const lagging = (how: string, load: (after: string) => Load, fixed?: string): Form => {
    const form = make(how, () => ({}), fixed);
    const prepare: Form['prepare'] = async (priced) => {
      const sent = await (await form.prepare(priced))();
      const { body } = await priced.rest.get(`${list?.template}?limit=1`);
      const { query = '', headers = {}, ...more } = load(String(body[0].id));
      return () => ({ ...sent, path: sent.path + query, headers, giveUpMs: 1_000, ...more });
    };
    return { ...form, boundedBy: '50 pages a second by account', prepare };
  };
  const frame = (fields: JsonObject) => [grpcFrame(toBinary(input, fromJson(input, fields)))];
  const selected = Object.fromEntries(rare) as JsonObject;
  return [
    lagging('a second of all', (after) => ({ query: `?after=${after}` })),
    lagging('gRPC, a second of all', (after) => ({ headers: GRPC_TYPE, body: frame({ after }) }), path),
    lagging('gRPC, a second of few', (after) => ({ headers: GRPC_TYPE, body: frame({ after, ...selected }) }), path),
  ];
}

const [...FIRST_OF_EACH] = Map.groupBy(PUBLIC, ({ method }) => method).values();

/** Each with the key. */
export const KEYED_FORMS: readonly Form[] = [
  ...PUBLIC.flatMap(formsOf),
  ...FIRST_OF_EACH.flatMap(([first]) => (first === undefined ? [] : loadForms(first))),
].map((form) => ({
  ...form,
  prepare: async (service) => {
    const send = await form.prepare(service);
    return async () => {
      const sent = await send();
      return { ...sent, headers: { authorization: service.valid(), ...sent.headers } };
    };
  },
}));
