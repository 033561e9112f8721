/**
 * gRPC reflection (https://github.com/grpc/grpc/blob/master/doc/server-reflection.md): shows the listed services, their
 * imports, and the details of errors. A response has the file and its imports, but no import twice on one stream. So
 * nobody has to ask for the extensions of a type, and such questions get an error.
 */
import { create, type DescFile, type Message, toBinary } from '@bufbuild/protobuf';
import { FileDescriptorProtoSchema } from '@bufbuild/protobuf/wkt';
import { status as Code } from '@grpc/grpc-js';
import { tooMany } from '../errors.ts';
import type { Operations } from '../proto/operations.ts';
import { readRequest } from '../proto/request.ts';
import type { Call } from './chain.ts';
import { type Implementation, RAW } from './methods.ts';

const PATHS = ['v1', 'v1alpha'].map((version) => `/grpc.reflection.${version}.ServerReflection/ServerReflectionInfo`);

/** For each of as many bytes a response counts as one more request: 75 KB cost three times as much as a refusal. */
export const BYTES_OF_ONE = 32_768;

/** What a stream gets, which is more than any tool asks for. A response is many times larger than its request. */
const MAX_BYTES = 262_144;

/** A request of either version, with the cases that are supported. */
type Request = Message & {
  readonly host: string;
  readonly messageRequest: {
    readonly case: 'listServices' | 'fileByFilename' | 'fileContainingSymbol' | undefined;
    /** Undefined without a case. */
    readonly value: string | undefined;
  };
};

/** Both versions of reflection. Each request spends from its address's allowance: `spend` throws when none is left. */
export function reflection(
  { registry }: Operations,
  services: readonly string[],
  spend: (address: string) => void,
): Implementation {
  const shown = withImports([...services, 'google.rpc.ErrorInfo'].flatMap((name) => registry.get(name)?.file ?? []));
  /** Encoded once: with its imports a file has 100 KB. */
  const files = new Map([...shown].map((file) => [file, toBinary(FileDescriptorProtoSchema, file.proto)]));

  const find = (kind: string | undefined, name = ''): DescFile | undefined => {
    if (kind === 'fileByFilename') return files.keys().find(({ proto }) => proto.name === name);
    const dot = name.lastIndexOf('.'); // no pattern: the name is a caller's
    const [service, method] = [name.slice(0, Math.max(dot, 0)), name.slice(dot + 1)];
    const withMethod = registry.getService(service)?.methods.find((one) => one.name === method)?.parent;
    const file = kind === 'fileContainingSymbol' ? (withMethod ?? registry.get(name))?.file : undefined;
    return file !== undefined && files.has(file) ? file : undefined;
  };

  const responseTo = ({ messageRequest: { case: kind, value } }: Request, sent: Set<DescFile>) => {
    if (kind === 'listServices') {
      return { case: 'listServicesResponse', value: { service: services.map((name) => ({ name })) } };
    }
    const file = find(kind, value);
    if (file === undefined) {
      return { case: 'errorResponse', value: { errorCode: Code.NOT_FOUND, errorMessage: 'it is not found' } };
    }
    const unsent = [...withImports([file])].filter((one) => one === file || !sent.has(one));
    for (const one of unsent) sent.add(one);
    const fileDescriptorProto = unsent.flatMap((one) => files.get(one) ?? []);
    return { case: 'fileDescriptorResponse', value: { fileDescriptorProto } };
  };

  async function* reflect(call: Call): AsyncIterable<Uint8Array> {
    const { input, output } = call.operation;
    const sent = new Set<DescFile>();
    let sentBytes = 0;
    for await (const bytes of call.messages()) {
      spend(call.address);
      const originalRequest = readRequest({ input }, bytes) as Request;
      const messageResponse = responseTo(originalRequest, sent);
      const response: Record<string, unknown> = { validHost: originalRequest.host, originalRequest, messageResponse };
      const sending = toBinary(output, create(output, response));
      for (let bytes = BYTES_OF_ONE; bytes < sending.length; bytes += BYTES_OF_ONE) spend(call.address);
      sentBytes += sending.length;
      if (sentBytes > MAX_BYTES) throw tooMany(MAX_BYTES, 'stream', `address:${call.address}`);
      yield sending;
    }
  }
  return PATHS.map((path) => ({ codec: { path, ...RAW }, handler: reflect }));
}

function withImports(files: readonly DescFile[]): ReadonlySet<DescFile> {
  const all = new Set(files);
  for (const { dependencies } of all) for (const file of dependencies) all.add(file);
  return all;
}
