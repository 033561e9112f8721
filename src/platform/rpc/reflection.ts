/**
 * gRPC reflection (https://github.com/grpc/grpc/blob/master/doc/server-reflection.md): shows the listed services, their
 * imports, and the details of errors. A response has the file and its imports, but no import twice on one stream. So
 * nobody has to ask for the extensions of a type, and such questions get an error.
 */
import { create, type DescFile, type Message, toBinary } from '@bufbuild/protobuf';
import { BinaryWriter, WireType } from '@bufbuild/protobuf/wire';
import { FileDescriptorProtoSchema } from '@bufbuild/protobuf/wkt';
import { status as Code } from '@grpc/grpc-js';
import { tooMany } from '../errors.ts';
import type { Operations } from '../proto/operations.ts';
import { readRequest } from '../proto/request.ts';
import type { Call } from './chain.ts';
import { type Implementation, RAW } from './methods.ts';

const PATHS = ['v1', 'v1alpha'].map((version) => `/grpc.reflection.${version}.ServerReflection/ServerReflectionInfo`);

/** The field numbers of `file_descriptor_response` in a response, and of `file_descriptor_proto` in that. */
const [FILES, FILE] = [4, 1];

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

/**
 * Both versions of reflection, which list `services`. A request is read when the response to the last is sent. Each
 * spends from the allowance of its address: `spend` throws when nothing is left.
 */
export function reflection(
  { registry }: Operations,
  services: readonly string[],
  spend: (address: string) => void,
): Implementation {
  const files = withImports([...services, 'google.rpc.ErrorInfo'].flatMap((name) => registry.get(name)?.file ?? []));
  /** Each as a field of a response: with its imports a file has 100 KB, whose encoding takes more than all else. */
  const bytesOf = new Map(
    [...files].map((file) => [file, asField(FILE, toBinary(FileDescriptorProtoSchema, file.proto))]),
  );

  const find = (kind: string | undefined, name = ''): DescFile | undefined => {
    if (kind === 'fileByFilename') return [...files].find(({ proto }) => proto.name === name);
    const dot = name.lastIndexOf('.');
    const [service, method] = [name.slice(0, Math.max(dot, 0)), name.slice(dot + 1)];
    const isMethod = registry.getService(service)?.methods.some((one) => one.name === method);
    const file = kind === 'fileContainingSymbol' ? registry.get(isMethod ? service : name)?.file : undefined;
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
    return unsent.flatMap((one) => bytesOf.get(one) ?? []);
  };

  async function* reflect(call: Call): AsyncIterable<Buffer> {
    const { input, output } = call.operation;
    const sent = new Set<DescFile>();
    let sentBytes = 0;
    for await (const bytes of call.messages()) {
      spend(call.address);
      const originalRequest = readRequest({ input }, bytes) as Request;
      const found = responseTo(originalRequest, sent);
      const [messageResponse, parts] = Array.isArray(found) ? [undefined, found] : [found, undefined];
      const response: Record<string, unknown> = { validHost: originalRequest.host, originalRequest, messageResponse };
      const head = toBinary(output, create(output, response));
      const sending = Buffer.concat(parts === undefined ? [head] : [head, asField(FILES, Buffer.concat(parts))]);
      for (let bytes = BYTES_OF_ONE; bytes < sending.length; bytes += BYTES_OF_ONE) spend(call.address);
      sentBytes += sending.length;
      if (sentBytes > MAX_BYTES) throw tooMany(MAX_BYTES, 'stream', `address:${call.address}`);
      yield sending;
    }
  }
  return PATHS.map((path) => ({ codec: { path, ...RAW }, handler: reflect }));
}

/** A field of a message that has these bytes. */
function asField(number: number, bytes: Uint8Array): Uint8Array {
  return new BinaryWriter().tag(number, WireType.LengthDelimited).bytes(bytes).finish();
}

function withImports(files: readonly DescFile[]): ReadonlySet<DescFile> {
  const all = new Set(files);
  for (const { dependencies } of all) for (const file of dependencies) all.add(file);
  return all;
}
