/** What Envoy has to know of the proto files. */
import type { DescMessage } from '@bufbuild/protobuf';
import { loadOperations, type Operation, verbsOf } from '../../src/platform/proto/operations.ts';
import { onlyPath } from '../../src/platform/proto/paths.ts';
import { bodiesToRead } from './json.ts';

const EDGE_SERVICE = 'apiplatform.edge.v1.EdgeService';
const FINDING = 'apiplatform.edge.v1.Finding';

const { registry, byPath } = loadOperations();
const ON_REST = [...byPath.values()].filter(({ routes }) => routes.length > 0);
const WITH_JSON = ON_REST.filter(({ isRaw }) => !isRaw);

/** The methods of the REST routes. */
export const HTTP_METHODS = distinct(ON_REST.flatMap(({ routes }) => routes.map(({ method }) => method)))
  .filter((method) => method !== '*')
  .toSorted();

/** The services that have REST routes. */
export const REST_SERVICES = distinct(ON_REST.map(({ path }) => path.slice(1, path.lastIndexOf('/'))));

/** The gRPC paths of the API's unary methods: a call over Connect can be one of them. */
export const UNARY = [...byPath.values()]
  .filter(({ isPublic, isStream }) => isPublic && !isStream)
  .map(({ path }) => path);

/** Those that only read, and end. */
export const READS = WITH_JSON.filter(({ isRead, isEventStream }) => isRead && !isEventStream).map(({ path }) => path);

/**
 * What Envoy does not refuse to a key that may only read: the methods of HTTP that any read has, and the gRPC paths of
 * all reads.
 */
export const ALLOWED_TO_READ = distinct(
  WITH_JSON.filter(({ isRead }) => isRead).flatMap(({ path, routes }) => [path, ...routes.map(({ method }) => method)]),
);

/** Streams without an end of their own. */
export const EVENT_STREAMS = WITH_JSON.filter(({ isEventStream }) => isEventStream).map(({ path }) => path);

/** The verbs of all paths. */
export const VERBS = verbsOf(registry);

/** The bodies of requests. */
export const BODIES = bodiesToRead(WITH_JSON);

/** What needs no API key: a probe answers to every method, a file to GET and HEAD. */
const [PROBES, FILES] = [false, true].map((isStream) =>
  [...byPath.values()].filter((operation) => operation.isRaw && operation.isStream === isStream),
) as [Operation[], Operation[]];
export const PROBE_METHODS = PROBES.map(({ path }) => path);
export const FILE_METHODS = FILES.map(({ path }) => path);
export const PROBE_PATHS = distinct(PROBES.flatMap(pathsOf));
export const FILE_PATHS = distinct(FILES.flatMap(pathsOf));

/** The methods of EdgeService by their names in lower case: their paths, and the field numbers of their requests. */
export const EDGE_METHODS = Object.fromEntries(
  (registry.getService(EDGE_SERVICE)?.methods ?? []).map(({ name, input }) => [
    name.toLowerCase(),
    { path: `/${EDGE_SERVICE}/${name}`, fields: fieldNumbers(input) },
  ]),
);

/** What json.lua may find, by name: the numbers of the enum. */
export const FINDINGS = Object.fromEntries(
  (registry.getEnum(FINDING)?.values ?? []).map(({ localName, number }) => [localName, number]),
);

function distinct(texts: readonly string[]): string[] {
  return [...new Set(texts)];
}

/** The paths of an operation without variables. */
function pathsOf({ routes }: Operation): string[] {
  return routes.map(onlyPath);
}

function fieldNumbers({ fields }: DescMessage): Readonly<Record<string, number>> {
  return Object.fromEntries(fields.map(({ name, number }) => [name, number]));
}
