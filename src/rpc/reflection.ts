/**
 * gRPC reflection. Its library and its view of the proto files take a fifth of the server's start-up time, and few
 * servers are ever asked. So they are loaded with the first call. Only the listed services, and what they need, are
 * shown.
 */
import type { MethodDefinition, ServiceDefinition, UntypedServiceImplementation } from '@grpc/grpc-js';
import { apiError, tooMany } from '../errors.ts';
import { fileDescriptors } from '../proto/operations.ts';
import type { Call } from './chain.ts';
import { type Implementation, RAW } from './service.ts';

const PATHS = ['v1', 'v1alpha'].map((version) => `/grpc.reflection.${version}.ServerReflection/ServerReflectionInfo`);

/** More than any tool asks on one stream. Anybody may ask, and an answer is many times larger than its request. */
const MAX_REQUESTS = 200;
const MAX_BYTES = 262_144;
/** The answers to this many requests are kept: to encode one takes some 100 µs. */
const MAX_KEPT = 100;

/** The stream that a handler of the library works on: it writes a response to each request, at once. */
interface LibraryStream {
  on(event: string, listener: (request: unknown) => void): void;
  write(response: unknown): void;
  end(): void;
}

interface Method {
  readonly definition: MethodDefinition<unknown, unknown>;
  readonly handler: (stream: LibraryStream) => void;
}

/** Both versions of reflection, which list `services`. A request is read when the answer to the one before is sent. */
export function reflection(services: readonly string[]): Implementation {
  let methods: ReadonlyMap<string, Method> | undefined;
  const kept = new Map<string, readonly Buffer[]>();
  async function* reflect(call: Call): AsyncIterable<Buffer> {
    methods ??= await loadMethods(services); // if that fails, for lack of files, the next call tries again
    const method = methods.get(call.operation.path);
    if (method === undefined) throw new Error(`the reflection library has no ${call.operation.path}`);
    const { definition, handler } = method;
    const responses: unknown[] = [];
    let respond = (_request: unknown): void => undefined;
    handler({
      on(event, listener) {
        if (event === 'data') respond = listener;
      },
      write: (response) => responses.push(response),
      end: () => undefined,
    });
    let [requests, sentBytes] = [0, 0];
    for await (const bytes of call.messages()) {
      requests += 1;
      if (requests > MAX_REQUESTS) throw tooMany(MAX_REQUESTS, 'stream', `address:${call.address}`);
      const request = `${definition.path} ${bytes.toString('latin1')}`;
      let answers = kept.get(request);
      if (answers === undefined) {
        respond(decode(definition, bytes));
        answers = responses.splice(0).map((response) => definition.responseSerialize(response));
        if (kept.size < MAX_KEPT && bytes.length < 256) kept.set(request, answers);
      }
      for (const answer of answers) {
        sentBytes += answer.length;
        if (sentBytes > MAX_BYTES) throw tooMany(MAX_BYTES, 'stream', `address:${call.address}`);
        yield answer;
      }
    }
  }
  return { name: 'grpc.reflection', methods: PATHS.map((path) => ({ codec: { path, ...RAW }, handler: reflect })) };
}

function decode({ requestDeserialize }: Method['definition'], bytes: Buffer): unknown {
  try {
    return requestDeserialize(bytes);
  } catch {
    throw apiError('MALFORMED_BODY', { detail: 'it is no request' });
  }
}

/** Resolves with the methods by path. */
async function loadMethods(services: readonly string[]): Promise<ReadonlyMap<string, Method>> {
  const { ReflectionService } = await import('@grpc/reflection');
  const methods = new Map<string, Method>();
  const addService = (definitions: ServiceDefinition, implementation: UntypedServiceImplementation) => {
    for (const [name, definition] of Object.entries(definitions)) {
      // grpc-js types a handler by its call, which only the library's own stream would satisfy.
      methods.set(definition.path, { definition, handler: implementation[name] as unknown as Method['handler'] });
    }
  };
  // The library takes the files of a service from any message type, so one type brings all of our proto files.
  const fileDescriptorProtos = fileDescriptors(services).map((file) => Buffer.from(file));
  const type = { format: 'Protocol Buffer 3 EnumDescriptorProto', type: {}, fileDescriptorProtos } as const;
  new ReflectionService({ petstore: type }, { services: [...services] }).addToServer({ addService });
  return methods;
}
