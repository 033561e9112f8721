/** The gRPC server: which services it has, and which interceptors every call passes, in which order. */

import { ServerCredentials } from '@grpc/grpc-js';
import { HealthImplementation } from 'grpc-health-check';
import type { Logger } from 'pino';
import { AdminServiceService } from '../gen/petstore/admin/v1/admin.ts';
import { EdgeServiceService } from '../gen/petstore/edge/v1/edge.ts';
import { CategoryServiceService } from '../gen/petstore/v1/categories.ts';
import { InventoryServiceService } from '../gen/petstore/v1/inventory.ts';
import { OrderServiceService } from '../gen/petstore/v1/orders.ts';
import { PetServiceService } from '../gen/petstore/v1/pets.ts';
import { WebServiceService } from '../gen/petstore/web/v1/web.ts';
import { formatAddress } from './config/addresses.ts';
import { addAccessLogHeaders } from './edge/access-log.ts';
import { edgeService } from './edge/edge-service.ts';
import { toHttpError } from './edge/http-errors.ts';
import { READINESS_SERVICE, Readiness } from './edge/readiness.ts';
import { httpResponse, rest } from './edge/rest.ts';
import { checkHealth, fileSender } from './edge/web-service.ts';
import { createGrpcServer } from './grpc/adapter.ts';
import { countCalls } from './grpc/call-counter.ts';
import { addReflection } from './grpc/reflection.ts';
import { limitStreams } from './grpc/stream-limits.ts';
import { audit } from './interceptors/audit.ts';
import { authentication } from './interceptors/authentication.ts';
import { deprecation } from './interceptors/deprecation.ts';
import { errorMapping } from './interceptors/error-mapping.ts';
import { etags } from './interceptors/etags.ts';
import { idempotency } from './interceptors/idempotency.ts';
import { limits } from './interceptors/limits.ts';
import { logging } from './interceptors/logging.ts';
import { recordMetrics } from './interceptors/metrics.ts';
import { operatorOnly } from './interceptors/operator.ts';
import { readMessage } from './interceptors/read-message.ts';
import { traceCalls } from './interceptors/tracing.ts';
import { validation } from './interceptors/validation.ts';
import type { ApiKeys } from './keys/caller.ts';
import type { PlanQuotas } from './keys/plans.ts';
import type { Ban, Limiter, LimitsAdmin } from './limits/limiter.ts';
import type { CallMetrics } from './metrics/calls.ts';
import { loadOperations } from './proto/operations.ts';
import { createValidationRules } from './proto/validation-rules.ts';
import { adminService } from './services/admin.ts';
import { categoryService } from './services/categories.ts';
import { inventoryService } from './services/inventory.ts';
import { orderService } from './services/orders.ts';
import { petService } from './services/pets.ts';
import type { Store } from './storage/store.ts';
import type { Tracing } from './tracing/tracing.ts';

/** How long open calls may take when the server stops. */
const DRAIN_MS = 10_000;

/** How many health watches, reflection streams and files one address may have open, and for how long. */
const MAX_OPEN_PER_ADDRESS = 50;
const MAX_OPEN_MS = 300_000;

/** The services that reflection lists: all but the operator's and Envoy's. */
const LISTED = [
  'grpc.health.v1.Health',
  'petstore.v1.CategoryService',
  'petstore.v1.InventoryService',
  'petstore.v1.OrderService',
  'petstore.v1.PetService',
];

/** The names of the health service: the whole server, each listed service, and readiness for new calls. */
const HEALTH_NAMES = ['', READINESS_SERVICE, ...LISTED];

export interface PetstoreServer {
  /** Listens on an IP address, in plain text or with TLS. Port 0 picks a free one. Resolves with the port. */
  listen(host: string, port: number, credentials?: ServerCredentials): Promise<number>;
  /** Fails Envoy's health check, but keeps serving. Resolves when Envoy sends new calls to other servers. */
  startDraining(): Promise<void>;
  /** Reports NOT_SERVING, refuses new calls, and resolves when the open ones have ended, after 10 seconds at most. */
  drain(): Promise<void>;
}

export interface Dependencies {
  readonly store: Store;
  readonly keys: ApiKeys;
  /** Called when a key or an account has changed. */
  readonly onKeysChanged: () => void;
  readonly limiter: Limiter & LimitsAdmin;
  /** How long a ban lasts. */
  readonly banMs: number;
  /** Called when the operator has ended a ban. */
  readonly onUnban: (ended: Ban) => void;
  readonly plans: PlanQuotas;
  readonly operatorKey: string;
  /** Stores what the limits have counted so far. */
  readonly flushUsage: () => Promise<void>;
  readonly logger: Logger;
  /** Records what the operator does. */
  readonly auditLog: Logger;
  /** Undefined without a collector of traces. */
  readonly tracing?: Tracing | undefined;
  /** Undefined when metrics are off. */
  readonly metrics?: CallMetrics | undefined;
}

export function createServer(dependencies: Dependencies): PetstoreServer {
  const { store, keys, onKeysChanged, limiter, banMs, onUnban, plans, operatorKey, flushUsage } = dependencies;
  const { logger, auditLog, tracing, metrics } = dependencies;
  const { registry, byPath } = loadOperations();
  const rules = createValidationRules(registry);
  const { interceptor: countRequest, anonymous } = limits(limiter, metrics && { onBan: metrics.ban });

  // The order of errors: 401, then 429, then those in the request itself, then those that the method finds. Each
  // interceptor declares what it must come after. A wrong order, or a missing interceptor, fails here, at start.
  const observers = [
    ...(tracing === undefined ? [] : [traceCalls(tracing)]),
    ...(metrics === undefined ? [] : [recordMetrics(metrics)]),
    logging(logger),
  ];
  const forAnybody = [...observers, errorMapping, readMessage, httpResponse];
  const forCallers = [
    ...observers,
    errorMapping,
    authentication(keys, anonymous),
    countRequest,
    readMessage,
    rest,
    etags,
    validation(rules),
    idempotency(store.idempotency),
    deprecation,
  ];
  const forOperator = [
    ...observers,
    audit(auditLog),
    errorMapping,
    operatorOnly(operatorKey, anonymous),
    readMessage,
    validation(rules),
  ];

  const readiness = new Readiness();
  const admin = adminService({ store, plans, onChange: onKeysChanged, limits: limiter, banMs, onUnban, flushUsage });
  const limited = limitStreams({
    maxPerAddress: MAX_OPEN_PER_ADDRESS,
    maxMs: MAX_OPEN_MS,
    toHttpError,
    onEnd: addAccessLogHeaders,
  });
  const { getFile: _, ...unaryWebService } = WebServiceService;
  const server = createGrpcServer({
    services: [
      { definition: PetServiceService, methods: petService(store), interceptors: forCallers },
      { definition: CategoryServiceService, methods: categoryService(store), interceptors: forCallers },
      { definition: OrderServiceService, methods: orderService(store), interceptors: forCallers },
      { definition: InventoryServiceService, methods: inventoryService(store), interceptors: forCallers },
      { definition: EdgeServiceService, methods: edgeService(byPath.values(), rules), interceptors: forCallers },
      { definition: AdminServiceService, methods: admin, interceptors: forOperator },
      { definition: unaryWebService, methods: { checkHealth }, interceptors: forAnybody },
    ],
    operations: byPath,
    toHttpError,
    onEnd: addAccessLogHeaders,
    otherCalls: readiness.trackHealthChecks(metrics === undefined ? limited : countCalls(metrics.others, limited)),
  });

  // No key is needed for files, health checks and reflection.
  const onFailure = (error: unknown) => logger.error({ err: error }, 'a file could not be sent');
  server.addService({ getFile: WebServiceService.getFile }, { getFile: fileSender(onFailure) });
  const health = new HealthImplementation();
  const setHealth = (status: 'SERVING' | 'NOT_SERVING') => {
    for (const name of HEALTH_NAMES) health.setStatus(name, status);
  };
  setHealth('NOT_SERVING');
  health.addToServer(server);
  addReflection(server, LISTED, (error) => logger.error({ err: error }, 'reflection could not be loaded'));

  return {
    async listen(host, port, credentials = ServerCredentials.createInsecure()) {
      const bound = await new Promise<number>((resolve, reject) => {
        server.bindAsync(formatAddress(host, port), credentials, (error, boundPort) =>
          error === null ? resolve(boundPort) : reject(error),
        );
      });
      setHealth('SERVING');
      return bound;
    },

    startDraining() {
      health.setStatus(READINESS_SERVICE, 'NOT_SERVING');
      return readiness.startDraining();
    },

    async drain() {
      setHealth('NOT_SERVING');
      const closed = new Promise<void>((resolve) => server.tryShutdown(() => resolve()));
      const deadline = setTimeout(() => server.forceShutdown(), DRAIN_MS);
      await closed;
      clearTimeout(deadline);
    },
  };
}
