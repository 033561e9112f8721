/** A minimal client of gRPC server reflection, v1 and v1alpha, without generated code. */
import { fromBinary } from '@bufbuild/protobuf';
import { BinaryReader, BinaryWriter, WireType } from '@bufbuild/protobuf/wire';
import { type FileDescriptorProto, FileDescriptorProtoSchema } from '@bufbuild/protobuf/wkt';
import { Client } from '@grpc/grpc-js';
import { insecure } from './grpc.ts';

/** Field numbers of ServerReflectionRequest. */
const FILE_BY_FILENAME = 3;
const FILE_CONTAINING_SYMBOL = 4;
const LIST_SERVICES = 7;
/** Field numbers of ServerReflectionResponse. */
const FILES = 4;
const SERVICES = 6;

type Version = 'v1' | 'v1alpha';

/** The names of the listed services. */
export async function listServices(address: string, version: Version): Promise<string[]> {
  const answer = await ask(address, version, LIST_SERVICES, '*');
  const services = fields(answer, SERVICES).flatMap((list) => fields(list, 1));
  return services.flatMap((service) => fields(service, 1)).map(String);
}

/** The file that defines `symbol`, with all files that it imports; empty when the symbol is unknown. */
export async function filesOf(address: string, version: Version, symbol: string): Promise<FileDescriptorProto[]> {
  const found = new Map<string, FileDescriptorProto>();
  const add = async (field: number, text: string) => {
    const answer = await ask(address, version, field, text);
    const files = fields(answer, FILES).flatMap((list) => fields(list, 1));
    for (const file of files.map((bytes) => fromBinary(FileDescriptorProtoSchema, bytes))) found.set(file.name, file);
  };
  await add(FILE_CONTAINING_SYMBOL, symbol);
  // A server may omit imports, which a client then requests.
  for (const { dependency } of found.values()) {
    for (const name of dependency) if (!found.has(name)) await add(FILE_BY_FILENAME, name);
  }
  return [...found.values()];
}

function ask(address: string, version: Version, field: number, text: string): Promise<Buffer> {
  const request = new BinaryWriter().tag(field, WireType.LengthDelimited).string(text);
  return askInBytes(address, version, Buffer.from(request.finish()));
}

/** Sends the bytes of one message, valid or not, and resolves with the response. */
export function askInBytes(address: string, version: Version, request: Buffer): Promise<Buffer> {
  const client = new Client(address, insecure);
  const path = `/grpc.reflection.${version}.ServerReflection/ServerReflectionInfo`;
  const asIs = (bytes: Buffer) => bytes;
  return new Promise<Buffer>((resolve, reject) => {
    const stream = client.makeBidiStreamRequest(path, asIs, asIs);
    stream.once('data', resolve);
    stream.once('error', reject);
    stream.end(request);
  }).finally(() => client.close());
}

/** Every occurrence of a length-delimited field in a message. */
function fields(message: Uint8Array, wanted: number): Buffer[] {
  const reader = new BinaryReader(message);
  const found: Buffer[] = [];
  while (reader.pos < reader.len) {
    const [number, type] = reader.tag();
    if (number === wanted && type === WireType.LengthDelimited) found.push(Buffer.from(reader.bytes()));
    else reader.skip(type, number);
  }
  return found;
}
