/**
 * The server without its key check and its limits: what they cost is the difference to the real one. Everything else
 * is the same: the store, the services, the other interceptors, the health check that Envoy asks for.
 */
import { join } from 'node:path';
import { Server, ServerCredentials } from '@grpc/grpc-js';
import { HealthImplementation } from 'grpc-health-check';
import pino from 'pino';
import { PetServiceService } from '../gen/petstore/v1/pets.ts';
import { readConfig } from '../src/config.ts';
import { addService } from '../src/grpc-adapter.ts';
import { deprecation } from '../src/interceptors/deprecation.ts';
import { errors } from '../src/interceptors/errors.ts';
import { logging } from '../src/interceptors/logging.ts';
import { restRequest } from '../src/interceptors/rest-request.ts';
import { validation } from '../src/interceptors/validation.ts';
import { ensureDemoKey } from '../src/keys/key-files.ts';
import { loadOperations } from '../src/operations.ts';
import { createRules } from '../src/rules.ts';
import { TAKES_CALLS } from '../src/server.ts';
import { petService } from '../src/services/pets.ts';
import { openSqlite } from '../src/storage/sqlite.ts';
import { createStore } from '../src/storage/store.ts';

const { dataDir, grpcPort, logLevel } = readConfig();
const store = createStore(await openSqlite(join(dataDir, 'petstore.sqlite')));
await ensureDemoKey(store, dataDir); // the load sends the key all the same
const { registry, byPath } = loadOperations();
const interceptors = [
  logging(pino({ level: logLevel })),
  errors,
  restRequest,
  validation(createRules(registry)),
  deprecation,
];
const server = new Server();
addService(server, PetServiceService, petService(store), interceptors, byPath);
new HealthImplementation({ [TAKES_CALLS]: 'SERVING' }).addToServer(server);

server.bindAsync(`127.0.0.1:${grpcPort}`, ServerCredentials.createInsecure(), (error, port) => {
  if (error !== null) throw error;
  process.send?.({ port });
});
process.once('SIGTERM', () => {
  server.tryShutdown(() => void store.close().then(() => process.disconnect?.()));
});
