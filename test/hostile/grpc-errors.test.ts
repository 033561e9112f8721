/** Malformed, slow or oversized gRPC calls at both ports: the fault is the caller's, as the statuses of gRPC say. */
import { gzipSync } from 'node:zlib';
import { status as Code } from '@grpc/grpc-js';
import { CreateCategoryRequest, ListCategoriesRequest } from '../../gen/petstore/v1/categories.ts';
import { exchangeAlone, grpcFrame, grpcHeaders, type RawCall, rawGrpc } from '../support/calls/http2.ts';
import { hostileTest } from './campaign/service.ts';

const test = hostileTest();

const PATH = '/petstore.v1.CategoryService/CreateCategory';
const MAX_BYTES = 65_536;
const message = CreateCategoryRequest.encode({ category: { name: 'Cats' } }).finish();

/** A message of this length, padded with an unknown field, which is ignored. */
function ofLength(bytes: number): Buffer {
  const rest = bytes - message.length - 5; // two bytes of a field's number and type, three of its length
  const length = [(rest & 0x7f) | 0x80, ((rest >> 7) & 0x7f) | 0x80, rest >> 14];
  return Buffer.concat([message, Buffer.from([0xfa, 0x7f, ...length]), Buffer.alloc(rest, 'x')]);
}

const gzip = { 'grpc-encoding': 'gzip' };

const { INVALID_ARGUMENT, UNIMPLEMENTED, INTERNAL } = Code;

const whole = grpcFrame(message);
const cutOff = grpcFrame(gzipSync(message).subarray(0, 12), true);
const LIST = { path: '/petstore.v1.EventService/ListEvents' };

const FAULTS: Readonly<Record<string, readonly [body: Buffer, code: Code, more?: Partial<RawCall>]>> = {
  // test/rpc/deadlines.test.ts has the whole grammar.
  'a malformed deadline': [whole, INVALID_ARGUMENT, { headers: { 'grpc-timeout': 'soon' } }],
  'no message': [Buffer.alloc(0), UNIMPLEMENTED],
  'two messages': [Buffer.concat([whole, whole]), UNIMPLEMENTED],
  'half a message': [whole.subarray(0, 9), INVALID_ARGUMENT],
  'a message and half a frame': [Buffer.concat([whole, Buffer.of(0, 0)]), INVALID_ARGUMENT],
  'a list of 30,000 wrong items': [grpcFrame(Buffer.from('1200'.repeat(30_000), 'hex')), INVALID_ARGUMENT, LIST],
  'bytes that are not a message': [grpcFrame(Buffer.alloc(9, 0xff)), INVALID_ARGUMENT],
  'a compressed message without an encoding': [grpcFrame(gzipSync(message), true), INTERNAL],
  'a compressed message that is cut off': [cutOff, INVALID_ARGUMENT, { headers: gzip }],
  'an unknown encoding': [grpcFrame(message, true), UNIMPLEMENTED, { headers: { 'grpc-encoding': 'banana' } }],
  'a frame with an invalid compression flag': [Buffer.of(7, 0, 0, 0, message.length, ...message), INTERNAL],
};

for (const port of ['publicAddress', 'grpcAddress'] as const) {
  for (const [title, [body, code, more]] of Object.entries(FAULTS)) {
    test(`gRPC errors - ${title} at ${port} is the caller's fault`, async (t) => {
      const { key, [port]: address } = t.context;
      const response = await rawGrpc(address, { path: PATH, key, body, ...more });
      t.is(response.status, code, response.message);
      if (port === 'publicAddress') t.regex(response.headers.get('x-request-id') ?? '', /^\S+$/);
      t.notRegex(response.message, /(^|: )$/);
    });
  }

  test(`gRPC errors - another method than POST at ${port} is a 405, after the key, and changes nothing`, async (t) => {
    const { key, [port]: address } = t.context;
    const unwanted = CreateCategoryRequest.encode({ category: { name: 'Unwanted' } }).finish();
    for (const method of ['GET', 'HEAD', 'OPTIONS', 'PUT', 'DELETE', 'TRACE', 'FOO']) {
      const body = ['GET', 'HEAD', 'DELETE'].includes(method) ? undefined : grpcFrame(unwanted);
      const call = (apiKey?: string) =>
        exchangeAlone(address, { ...grpcHeaders(PATH, apiKey), ':method': method }, { body });
      const refused = await call(key);
      t.deepEqual([refused.status, refused.headers.get('allow')], [405, 'POST'], method);
      t.is((await call()).headers.get('grpc-status'), String(Code.UNAUTHENTICATED), method);
    }
    const nowhere = await exchangeAlone(address, { ...grpcHeaders('/pets', key), ':method': 'GET' });
    t.regex(decodeURIComponent(nowhere.headers.get('grpc-message') ?? ''), /^\/pets does not/);
    const list = ListCategoriesRequest.encode({ limit: 100, pageToken: '' }).finish();
    const path = '/petstore.v1.CategoryService/ListCategories';
    const { body } = await exchangeAlone(address, grpcHeaders(path, key), { body: grpcFrame(list) });
    t.false(body.includes('Unwanted'));
  });

  test(`gRPC - a success at ${port}, of up to 64 KiB, has no grpc-message, and no header of Envoy's`, async (t) => {
    const { key, [port]: address } = t.context;
    const sent = [message, ofLength(MAX_BYTES)].flatMap((one) => [grpcFrame(one), grpcFrame(gzipSync(one), true)]);
    for (const body of sent) {
      const call = { path: PATH, key, body, headers: { ...gzip, 'x-petstore-anonymous': '1' } };
      const { headers } = await rawGrpc(address, call);
      t.deepEqual([headers.get('grpc-status'), headers.get('grpc-message')], ['0', null]);
      t.is(headers.get('grpc-accept-encoding'), 'identity,deflate,gzip');
      t.false([...headers.keys()].some((name) => name.startsWith('x-petstore')));
    }
  });

  for (const type of ['application/grpc+json', 'application/grpc-web+x', 'application/grpc2']) {
    test(`gRPC errors - a call of ${type} at ${port} is a 415, after the key`, async (t) => {
      const { key, [port]: address } = t.context;
      const call = (by: string | undefined) => {
        const headers = { ...grpcHeaders(PATH, by), 'content-type': type };
        return exchangeAlone(address, headers, { body: grpcFrame(message) });
      };
      const [known, anonymous] = [await call(key), await call(undefined)];
      t.deepEqual([known.status, known.headers.has('x-ratelimit-limit')], [415, true]);
      t.true(anonymous.status === 401 || anonymous.headers.get('grpc-status') === String(Code.UNAUTHENTICATED));
    });
  }

  for (const [title, bytes] of Object.entries({
    'of 64 KiB and one byte': grpcFrame(ofLength(MAX_BYTES + 1)),
    'of 1 MiB': grpcFrame(ofLength(2 ** 20)),
    'of 4 GiB that never arrives': Buffer.from([0, 0xff, 0xff, 0xff, 0xff]),
    'that is too large once decompressed': grpcFrame(gzipSync(ofLength(MAX_BYTES + 1)), true),
    'of 8 KiB and one byte, compressed': grpcFrame(Buffer.alloc(8_193, gzipSync(message)), true),
  })) {
    test(`gRPC errors - a message ${title} at ${port} is RESOURCE_EXHAUSTED, after the key`, async (t) => {
      const { key, [port]: address } = t.context;
      const call = { path: PATH, body: bytes, isEnded: !title.includes('never'), headers: gzip };
      const refused = await rawGrpc(address, { ...call, key });
      t.is(refused.status, Code.RESOURCE_EXHAUSTED);
      t.is(refused.reason, 'BODY_TOO_LARGE');
      t.true(refused.tookMs < 15_000); // not the 30 s that a message may take
      const anonymous = await rawGrpc(address, call);
      t.is(anonymous.status, Code.UNAUTHENTICATED);
      t.is(anonymous.reason, 'API_KEY_MISSING');
    });
  }

  test(`gRPC errors - a message that is not sent at ${port} is DEADLINE_EXCEEDED after 30 s at most`, async (t) => {
    const { key, [port]: address } = t.context;
    const half = { body: grpcFrame(message).subarray(0, 9) };
    const calls = [{}, half].map((sent) => ({ path: PATH, key, isEnded: false, ...sent }));
    for (const answer of await Promise.all(calls.map((call) => rawGrpc(address, call)))) {
      t.is(answer.status, Code.DEADLINE_EXCEEDED);
      t.true(answer.tookMs > 25_000 && answer.tookMs < 35_000, `it took ${answer.tookMs} ms`);
    }
  });
}

/** What Envoy finds itself, and whether it judges the caller first. */
const REFUSED: Readonly<Record<string, readonly [own: Record<string, string>, isJudged: boolean]>> = {
  'a path with a fragment': [{ ':path': `${PATH}#x`, 'x-envoy-original-path': '/' }, false],
  'a Host that is two': [{ ':authority': 'a,b' }, true],
  'text that is not Base64': [{ 'content-type': 'application/grpc-web-text' }, true],
};

const TYPES = [
  ...['application/grpc', 'application/grpc; x=y', 'Application/GRPC'],
  ...['application/grpc-web; charset=utf-8', 'application/grpc-web-text'],
];

for (const [title, [own, isJudged]] of Object.entries(REFUSED)) {
  test(`gRPC errors - ${title} is INVALID_ARGUMENT${isJudged ? ', after the key' : ''}`, async (t) => {
    const { key, publicAddress } = t.context;
    const body = Buffer.from('@@@@@');
    const types = own['content-type'] === undefined ? TYPES : [own['content-type']];
    for (const type of types) {
      for (const by of [key, undefined]) {
        const headers = { ...grpcHeaders(PATH, by), 'content-type': type, ...own };
        const answer = await exchangeAlone(publicAddress, headers, { body });
        const status = isJudged && by === undefined ? Code.UNAUTHENTICATED : INVALID_ARGUMENT;
        t.deepEqual([answer.status, answer.headers.get('grpc-status')], [200, String(status)], type);
        const expected = type.includes('web') ? /^application\/grpc-web/ : /^application\/grpc(\+|$)/;
        t.regex(answer.headers.get('content-type') ?? '', expected, type);
        t.not(answer.headers.get('grpc-message'), null);
        t.not(answer.headers.get('grpc-status-details-bin'), null);
        if (status === Code.UNAUTHENTICATED) t.true(answer.headers.has('x-ratelimit-limit'), type);
        for (const name of answer.headers.keys()) t.false(name.startsWith('x-petstore'), type);
      }
    }
  });
}
