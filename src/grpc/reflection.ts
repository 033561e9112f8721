/**
 * gRPC reflection. Its library and its view of the proto files take a fifth of the server's start-up time, and few
 * servers are ever asked. So they are loaded with the first call; until then the server only knows the paths of the
 * methods, and passes their messages as bytes.
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
import { RAW_CODEC } from './adapter.ts';

const PATHS = ['v1', 'v1alpha'].map((version) => `/grpc.reflection.${version}.ServerReflection/ServerReflectionInfo`);

type Call = ServerDuplexStream<Buffer, Buffer>;
/** A handler of the library: it reads requests from a stream and writes a response to each. */
type Handler = (stream: Pick<Call, 'on' | 'end'> & { write(response: unknown): void }) => void;

interface Method {
  readonly definition: MethodDefinition<unknown, unknown>;
  readonly handler: Handler;
}

/** Adds both versions of reflection, which list `services`. Calls `onFailure` when the library can't be loaded. */
export function addReflection(
  server: Pick<Server, 'addService'>,
  services: readonly string[],
  onFailure: (error: unknown) => void,
): void {
  let methods: Promise<ReadonlyMap<string, Method>> | undefined;
  for (const path of PATHS) {
    const handle = async (call: Call) => {
      methods ??= loadMethods(services).catch((error: unknown) => {
        methods = undefined; // the next call tries again
        throw error;
      });
      const method = (await methods).get(path);
      if (method === undefined) throw new Error(`the reflection library has no ${path}`);
      connect(call, method);
    };
    const serverReflectionInfo = (call: Call) => {
      handle(call).catch((error: unknown) => {
        onFailure(error);
        call.emit('error', { code: Status.INTERNAL, details: 'Reflection is not available' });
      });
    };
    const definition = { path, requestStream: true, responseStream: true, ...RAW_CODEC };
    server.addService({ serverReflectionInfo: definition }, { serverReflectionInfo });
  }
}

/** Resolves with the methods by path. */
async function loadMethods(services: readonly string[]): Promise<ReadonlyMap<string, Method>> {
  const { ReflectionService } = await import('@grpc/reflection');
  const methods = new Map<string, Method>();
  const addService = (definitions: ServiceDefinition, implementation: UntypedServiceImplementation) => {
    for (const [name, definition] of Object.entries(definitions)) {
      // grpc-js types a handler by its call, which only the library's own stream would satisfy.
      methods.set(definition.path, { definition, handler: implementation[name] as unknown as Handler });
    }
  };
  // The library takes the files of a service from any message type, so one type brings all of our proto files.
  const fileDescriptorProtos = fileDescriptors().map((file) => Buffer.from(file));
  const type = { format: 'Protocol Buffer 3 EnumDescriptorProto', type: {}, fileDescriptorProtos } as const;
  new ReflectionService({ petstore: type }, { services: [...services] }).addToServer({ addService });
  return methods;
}

/** Runs a handler of the library on a call whose messages are bytes. */
function connect(call: Call, { definition, handler }: Method): void {
  let hasFailed = false;
  const decoding = (listener: (message: unknown) => void) => (bytes: Buffer) => {
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
      call.on(event, event === 'data' ? decoding(listener) : listener),
    write: (message: unknown) => call.write(definition.responseSerialize(message)),
    end: () => (hasFailed ? call : call.end()),
  };
  handler(stream as Parameters<Handler>[0]);
}
