/**
 * The server without its key check and its limits: what they cost is the difference to the real one. Everything else
 * is the same: the store, the services, the other interceptors, the health check that Envoy asks for.
 */
import { ServerCredentials } from '@grpc/grpc-js';
import { HealthImplementation } from 'grpc-health-check';
import pino from 'pino';
import { PetServiceService } from '../gen/petstore/v1/pets.ts';
import { readConfig } from '../src/config.ts';
import { toHttpError } from '../src/edge/http-errors.ts';
import { READINESS_SERVICE } from '../src/edge/readiness.ts';
import { rest } from '../src/edge/rest.ts';
import { createGrpcServer } from '../src/grpc/adapter.ts';
import type { Interceptor } from '../src/interceptors/chain.ts';
import { deprecation } from '../src/interceptors/deprecation.ts';
import { errorMapping } from '../src/interceptors/error-mapping.ts';
import { logging } from '../src/interceptors/logging.ts';
import { readMessage } from '../src/interceptors/read-message.ts';
import { validation } from '../src/interceptors/validation.ts';
import { ensureDemoKey } from '../src/keys/key-files.ts';
import { loadOperations } from '../src/proto/operations.ts';
import { createValidationRules } from '../src/proto/validation-rules.ts';
import { petService } from '../src/services/pets.ts';
import { openEngine } from '../src/storage/open.ts';
import { createStore } from '../src/storage/store.ts';

const config = readConfig();
const logger = pino({ level: config.logLevel });
const store = createStore(await openEngine(config, logger));
await ensureDemoKey(store, config.dataDir); // the load sends the key all the same
const { registry, byPath } = loadOperations();
/** In the places of the key check and the limits, which others must stand behind. */
const open = ['authentication', 'limits'].map(
  (name): Interceptor => ({
    name,
    after: {},
    intercept: (call, next) => next(call),
  }),
);
const interceptors = [
  logging(logger),
  errorMapping,
  ...open,
  readMessage,
  rest,
  validation(createValidationRules(registry)),
  deprecation,
];
const server = createGrpcServer({
  services: [{ definition: PetServiceService, methods: petService(store), interceptors }],
  operations: byPath,
  toHttpError,
});
new HealthImplementation({ [READINESS_SERVICE]: 'SERVING' }).addToServer(server);

server.bindAsync(`127.0.0.1:${config.grpcPort}`, ServerCredentials.createInsecure(), (error, port) => {
  if (error !== null) throw error;
  if (process.connected) process.send?.({ port });
});
let isStopping = false;
process.on('message', () => process.send?.('yes')); // the launcher asks for signs of life
/** A launcher that is gone is a signal to stop too. */
for (const signal of ['SIGTERM', 'disconnect'] as const) process.once(signal, stop);

function stop(): void {
  if (isStopping) return; // to disconnect, at the end, is no other reason
  isStopping = true;
  server.tryShutdown(() => void store.close().then(() => process.connected && process.disconnect?.()));
}
