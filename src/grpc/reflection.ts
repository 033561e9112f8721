/**
 * gRPC reflection, which few servers are ever asked for. Its library, and what it makes of the proto files, are a fifth
 * of a server's start, so they are loaded with the first call. Until then the server knows the methods by their paths
 * alone, and their messages as bytes.
 */
import {
  type MethodDefinition,
  type Server,
  type ServerDuplexStream,
  type ServiceDefinition,
  status as Status,
  type UntypedServiceImplementation,
} from '@grpc/grpc-js';
import { fileDescriptors } from '../proto/operations.ts';
import { RAW } from './adapter.ts';

const PATHS = ['v1', 'v1alpha'].map((version) => `/grpc.reflection.${version}.ServerReflection/ServerReflectionInfo`);

type Call = ServerDuplexStream<Buffer, Buffer>;
/** A method of the library's: it takes what its stream brings, and writes an answer to each. */
type Answer = (stream: Pick<Call, 'on' | 'end'> & { write(answer: unknown): void }) => void;

interface Method {
  readonly definition: MethodDefinition<unknown, unknown>;
  readonly answer: Answer;
}

/** Adds reflection of both versions, which lists these services. `onFailure` is told when it can't be loaded. */
export function addReflection(
  server: Pick<Server, 'addService'>,
  services: readonly string[],
  onFailure: (error: unknown) => void,
): void {
  let methods: Promise<ReadonlyMap<string, Method>> | undefined;
  for (const path of PATHS) {
    const take = async (call: Call) => {
      methods ??= load(services).catch((error: unknown) => {
        methods = undefined; // the next call may have more luck
        throw error;
      });
      const method = (await methods).get(path);
      if (method === undefined) throw new Error(`there is no ${path}`);
      connect(call, method);
    };
    const onCall = (call: Call) => {
      take(call).catch((error: unknown) => {
        onFailure(error);
        call.emit('error', { code: Status.INTERNAL, details: 'Reflection is not available' });
      });
    };
    const inBytes = { path, requestStream: true, responseStream: true, ...RAW };
    server.addService({ serverReflectionInfo: inBytes }, { serverReflectionInfo: onCall });
  }
}

/** By path. */
async function load(services: readonly string[]): Promise<ReadonlyMap<string, Method>> {
  const { ReflectionService } = await import('@grpc/reflection');
  const methods = new Map<string, Method>();
  const addService = (definitions: ServiceDefinition, implementation: UntypedServiceImplementation) => {
    for (const [name, definition] of Object.entries(definitions)) {
      methods.set(definition.path, { definition, answer: implementation[name] as unknown as Answer });
    }
  };
  // Our proto files, unchanged. The library takes them as the files behind a message type.
  const fileDescriptorProtos = fileDescriptors().map((file) => Buffer.from(file));
  const type = { format: 'Protocol Buffer 3 EnumDescriptorProto', type: {}, fileDescriptorProtos } as const;
  new ReflectionService({ petstore: type }, { services: [...services] }).addToServer({ addService });
  return methods;
}

function connect(call: Call, { definition, answer }: Method): void {
  let hasFailed = false;
  const onData = (listener: (message: unknown) => void) => (bytes: Buffer) => {
    if (hasFailed) return;
    let message: unknown;
    try {
      message = definition.requestDeserialize(bytes);
    } catch {
      hasFailed = true;
      call.emit('error', { code: Status.INVALID_ARGUMENT, details: 'Error deserializing request' });
      return;
    }
    listener(message);
  };
  const stream = {
    on: (event: string, listener: (message: unknown) => void) =>
      call.on(event, event === 'data' ? onData(listener) : listener),
    write: (message: unknown) => call.write(definition.responseSerialize(message)),
    end: () => (hasFailed ? call : call.end()),
  };
  answer(stream as Parameters<Answer>[0]);
}
