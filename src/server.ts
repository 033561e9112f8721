/** The gRPC server: which services it has, and which interceptors every call passes, in which order. */
import { promisify } from 'node:util';
import { ServerCredentials } from '@grpc/grpc-js';
import type { Logger } from 'pino';
import { type AdminServiceServer, AdminServiceService } from '../gen/apiplatform/admin/v1/admin.ts';
import { type EdgeServiceServer, EdgeServiceService } from '../gen/apiplatform/edge/v1/edge.ts';
import { type WebServiceServer, WebServiceService } from '../gen/apiplatform/web/v1/web.ts';
import { type HealthServer, HealthService } from '../gen/grpc/health/v1/health.ts';
import { adminService } from './platform/access/admin/admin.ts';
import type { ApiKeyCache } from './platform/access/keys/api-key-cache.ts';
import { createAllowance } from './platform/access/limits/allowance.ts';
import type { Limiter } from './platform/access/limits/limiter.ts';
import type { LimitsRecorder } from './platform/access/limits/limits-recorder.ts';
import { type RequestLimits, requestLimits } from './platform/access/limits/request-limits.ts';
import type { Ban } from './platform/access/tables/bans.ts';
import { formatAddress } from './platform/config/checks.ts';
import type { Config } from './platform/config/config.ts';
import { ConfigError } from './platform/config/setting.ts';
import { DRAIN_MS } from './platform/config/times.ts';
import { edgeService } from './platform/edge/edge-service.ts';
import { addEdgeHeaders, origins } from './platform/edge/origins.ts';
import { READINESS_SERVICE } from './platform/edge-headers.ts';
import { tooMany } from './platform/errors.ts';
import type { EventFeed } from './platform/events/feed.ts';
import { audit } from './platform/interceptors/audit.ts';
import { authentication } from './platform/interceptors/authentication.ts';
import { deprecation } from './platform/interceptors/deprecation.ts';
import { etags } from './platform/interceptors/etags.ts';
import { host } from './platform/interceptors/host.ts';
import { idempotency } from './platform/interceptors/idempotency.ts';
import { keyless } from './platform/interceptors/keyless.ts';
import { limits } from './platform/interceptors/limits.ts';
import { operatorOnly } from './platform/interceptors/operator-only.ts';
import { permission } from './platform/interceptors/permission.ts';
import { readMessage } from './platform/interceptors/read-message.ts';
import { readTurns } from './platform/interceptors/read-turns.ts';
import { rest } from './platform/interceptors/rest.ts';
import { logging } from './platform/observe/logging/log-calls.ts';
import type { CallMetrics } from './platform/observe/metrics/calls.ts';
import type { Tracing } from './platform/observe/tracing/otel.ts';
import { loadOperations } from './platform/proto/operations.ts';
import { createValidation } from './platform/proto/validation-rules.ts';
import type { Caller } from './platform/rpc/caller.ts';
import type { Call } from './platform/rpc/chain.ts';
import { createHealth } from './platform/rpc/health.ts';
import { implement } from './platform/rpc/methods.ts';
import { OpenCalls } from './platform/rpc/open-calls.ts';
import { reflection } from './platform/rpc/reflection.ts';
import { createGrpcServer, serve } from './platform/rpc/server.ts';
import { Turns } from './platform/rpc/turns.ts';
import { hasOwners } from './platform/tables/owned.ts';
import { webService } from './platform/web/web-service.ts';
import type { Store } from './schema.ts';
import { shopServices } from './shop/services.ts';
import type { ShopSettings } from './shop/settings.ts';

export interface Parts {
  readonly store: Store;
  readonly keys: ApiKeyCache;
  readonly limiter: Limiter;
  readonly operatorKey: string;
  readonly recorder: LimitsRecorder;
  readonly logger: Logger;
  /** Records what the operator does. */
  readonly auditLog: Logger;
  readonly tracing: Tracing | undefined;
  readonly metrics: CallMetrics | undefined;
  readonly events: EventFeed;
  /** Notes each call that begins, in case it never ends. */
  readonly note: ((call: Call) => void) | undefined;
  readonly settings: ShopSettings;
}

interface ChainParts extends Pick<Parts, 'keys' | 'operatorKey' | 'auditLog'> {
  readonly requests: RequestLimits;
  readonly turns: Turns;
  readonly validate: Parameters<typeof readMessage>[0];
  readonly records: Parameters<typeof idempotency>[0];
}

/**
 * What a call passes before its method, by who may call it. The order of errors: 401, then 429, then 403, then those in
 * the request itself, then those that the method finds. Each interceptor says what must be before it.
 */
export function chains({ keys, requests, turns, validate, records, operatorKey, auditLog }: ChainParts) {
  const message = readMessage(validate, turns);
  const unknown = [authentication(keys, requests), limits(requests), permission];
  const own = [readTurns(turns), etags, deprecation, idempotency(records)];
  const streams = [keyless(requests), host];
  const { passed, refused } = audit(auditLog);
  return {
    callers: [...unknown, host, rest, message, ...own],
    /** Of a method that does not exist. */
    unknown,
    operator: [operatorOnly(operatorKey, requests, refused), passed, message],
    /** Without a key: files and health checks; and reflection, which reads many messages itself. */
    anybody: [...streams, message],
    streams,
  };
}

export function createServer(config: Config, parts: Parts) {
  const { store, keys, limiter, operatorKey, recorder, logger, auditLog, tracing, metrics, events, note } = parts;
  const operations = loadOperations();
  const all = [...operations.byPath.values()];
  if (all.some(({ isOwned }) => isOwned) !== hasOwners(store))
    throw new ConfigError(
      'of a service that is `owned` in its proto file the table is an `ownedResource`, and of no other',
    );
  const { limits: bounds, eventStreams: maxEventStreams, addressPerMinute, addressBurst, addressPerSecond } = config;
  const openCalls = new OpenCalls({ ...bounds, maxEventStreams, countEventStreams: limiter.countEventStreams });
  const onBan = (ban: Ban, caller: Caller): void => {
    recorder.recordBan(ban);
    metrics?.ban(caller);
  };
  const requests = requestLimits(limiter, { shares: openCalls, onBan, addressPerMinute });

  const validate = createValidation(operations.registry);
  const records = store.idempotency;
  const of = chains({ keys, requests, turns: new Turns(), validate, records, operatorKey, auditLog });

  const hasAllowance = createAllowance(addressBurst, addressPerSecond);
  const spendAllowance = (address: string) => {
    if (!hasAllowance(address)) throw tooMany(addressPerSecond, 'second', `address:${address}`);
  };

  const shop = shopServices({ store, events, settings: parts.settings });
  // Callers see these, and not the operator's services nor Envoy's.
  const open = all.flatMap(({ path, isPublic }) => (isPublic ? (path.split('/')[1] ?? '') : []));
  const listed = ['grpc.health.v1.Health', ...new Set(open)];
  const healthNames = ['', READINESS_SERVICE, ...listed];
  const health = createHealth(healthNames);
  const { plans } = bounds;
  const admin = adminService({ store, plans, onChange: keys.invalidate, limiter, flushUsage: recorder.flush });
  const edge = implement<EdgeServiceServer>(EdgeServiceService, edgeService(all));
  const { originOf, isEdge, isForEdge } = origins(all, config.edgeSecret);
  const { server, connections } = createGrpcServer({
    methods: [
      ...shop.flatMap((service) => serve(operations, service, of.callers)),
      ...serve(operations, edge, of.callers),
      ...serve(operations, implement<AdminServiceServer>(AdminServiceService, admin), of.operator),
      ...serve(operations, implement<WebServiceServer>(WebServiceService, webService), of.anybody),
      ...serve(operations, implement<HealthServer>(HealthService, health.service), of.anybody),
      ...serve(operations, reflection(operations, listed, spendAllowance), of.streams),
    ],
    forUnknown: of.unknown,
    operations,
    originOf,
    isEdge,
    isForEdge,
    openCalls,
    note,
    beforeResponse: addEdgeHeaders,
    observers: [...(metrics === undefined ? [] : [metrics.observe]), logging(logger)],
    traceCall: tracing?.traceCall,
  });

  let address: string | undefined;
  return {
    /** Listens on the address and the port of the settings. Port 0 picks a free one. Resolves with the port. */
    async listen(credentials = ServerCredentials.createInsecure()) {
      const { grpcHost, grpcPort } = config;
      const port = await promisify(server.bindAsync).call(server, formatAddress(grpcHost, grpcPort), credentials);
      health.set(healthNames, true);
      address = formatAddress(grpcHost, port);
      return port;
    },

    /** Fails Envoy's health check, but keeps serving. Resolves when every edge sends new calls to other servers. */
    async startDraining() {
      health.set([READINESS_SERVICE], false);
      await health.seenByEdges();
    },

    /** Ends all streams of events. Their readers go on elsewhere, or later. */
    endEventStreams: () => openCalls.endEventStreams(),

    /** Reports NOT_SERVING, refuses new calls, and resolves when the open ones have ended, after 10 seconds at most. */
    async drain() {
      health.set(healthNames, false);
      openCalls.drain();
      if (address !== undefined) server.drain(address, DRAIN_MS);
      const cut = setTimeout(() => connections.endAll(), DRAIN_MS); // those of peers that read nothing, too
      await new Promise<void>((resolve) => server.tryShutdown(() => resolve()));
      clearTimeout(cut);
      openCalls.close();
    },

    openCalls: () => openCalls.counts(),
  };
}
