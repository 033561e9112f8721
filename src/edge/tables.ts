/**
 * What Envoy's Lua filters need to know of the proto files and of the server, as a Lua module. `npm run generate`
 * writes it to gen/edge/tables.lua, so the filters repeat nothing of it.
 */
import type { DescMessage } from '@bufbuild/protobuf';
import { CALL_TIMEOUT_MS, MAX_BODY_BYTES, MAX_WAITING_BODIES } from '../config/constants.ts';
import { apiError } from '../errors.ts';
import type { Operation, Operations } from '../proto/operations.ts';
import { connectBody } from './connect-error.ts';
import { EDGE_BODY_TIMEOUT_MS, RETRIES } from './envoy-values.ts';
import { EDGE_HEADERS } from './headers.ts';
import { restBody } from './rest-protocol.ts';

const EDGE_SERVICE = 'petstore.edge.v1.EdgeService';

export function luaTables({ registry, byPath }: Operations): string {
  const service = registry.getService(EDGE_SERVICE);
  if (service === undefined) throw new Error(`the proto files have no ${EDGE_SERVICE}`);
  const tables = {
    headers: EDGE_HEADERS,
    max_body_bytes: MAX_BODY_BYTES,
    max_waiting_bodies: MAX_WAITING_BODIES,
    body_timeout_ms: EDGE_BODY_TIMEOUT_MS,
    call_timeout_ms: CALL_TIMEOUT_MS,
    /** The errors if the server is unreachable. */
    unavailable: restBody(apiError('UNAVAILABLE')),
    deadline_exceeded: restBody(apiError('DEADLINE_EXCEEDED')),
    /** The same errors for Connect callers. */
    connect: {
      unavailable: connectBody(apiError('UNAVAILABLE')),
      deadline_exceeded: connectBody(apiError('DEADLINE_EXCEEDED')),
    },
    retries: RETRIES,
    /** Paths that need no API key. */
    open_paths: Object.fromEntries([...byPath.values()].filter(({ isRaw }) => isRaw).flatMap(pathsOf)),
    /** The paths of the methods of EdgeService, and the field numbers of their requests. */
    edge_methods: Object.fromEntries(
      service.methods.map(({ name, input }) => [
        name.toLowerCase(),
        { path: `/${EDGE_SERVICE}/${name}`, fields: fieldNumbers(input) },
      ]),
    ),
    /** The gRPC paths of the operations with JSON on the REST side. */
    operations: Object.fromEntries([...byPath.values()].filter(isJsonOnRest).map(({ path }) => [path, true as const])),
  };
  const head = '-- Generated from the proto files by `npm run generate`. Do not edit.';
  return `${head}\nreturn ${toLua(tables)}\n`;
}

function fieldNumbers({ fields }: DescMessage): Record<string, number> {
  return Object.fromEntries(fields.map(({ name, number }) => [name, number]));
}

/** True for operations that respond with JSON on the REST side. */
function isJsonOnRest({ routes, isRaw }: Operation): boolean {
  return routes.length > 0 && !isRaw;
}

/** The paths of an operation without variables. `/{file=docs}` is `/docs`. */
function pathsOf({ routes }: Operation): [path: string, true][] {
  return routes.map(({ template }) => [template.replace(/\{\w+=([^}]*)\}/g, '$1'), true]);
}

type LuaValue = string | number | true | undefined | readonly LuaValue[] | { readonly [key: string]: LuaValue };

function toLua(value: LuaValue, indent = ''): string {
  if (typeof value === 'number' || value === true) return String(value);
  if (typeof value === 'string') return quote(value);
  if (value === undefined) return 'nil';
  const inner = `${indent}  `;
  const entries = Array.isArray(value)
    ? value.map((item) => toLua(item, inner))
    : Object.entries(value).flatMap(([key, item]) =>
        item === undefined ? [] : [`${toKey(key)} = ${toLua(item, inner)}`],
      );
  return entries.length === 0 ? '{}' : `{\n${entries.map((entry) => `${inner}${entry},\n`).join('')}${indent}}`;
}

function toKey(key: string): string {
  return /^\w+$/.test(key) ? key.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`) : `[${quote(key)}]`;
}

/** Throws for text that is not visible ASCII, because Lua and JSON have different escapes. */
function quote(text: string): string {
  if (!/^[\x20-\x7e]*$/.test(text)) throw new Error(`"${text}" can't be written to a Lua file`);
  return `'${text.replace(/[\\']/g, '\\$&')}'`;
}
