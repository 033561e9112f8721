/**
 * Reads a REST request that the transcoder has refused once more, field by field: the transcoder stops at the first
 * value of a wrong type, but a 400 names every such field.
 */
import {
  create,
  type DescField,
  type DescMessage,
  type JsonValue,
  type Message,
  mergeFromJson,
  ScalarType,
} from '@bufbuild/protobuf';
import { reflect } from '@bufbuild/protobuf/reflect';
import type { Violation } from '../errors.ts';
import type { Operation } from '../proto/operations.ts';

/** The values of a request, not yet converted. */
export interface RestValues {
  /** By the name of the field in the request message. */
  readonly path: Readonly<Record<string, string>>;
  readonly query: URLSearchParams;
  /** The parsed body; undefined without one. */
  readonly body: JsonValue | undefined;
}

export interface RestReading {
  /** Every field whose value does not fit its type. */
  readonly violations: readonly Violation[];
  /** The request message with all other fields. */
  readonly message: Message;
}

/** Parses a JSON body. An integer beyond the safe range of JavaScript is returned as a string. */
export function parseBody(bytes: Uint8Array): JsonValue {
  const text = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes);
  return JSON.parse(text, ((_key: string, value: JsonValue, { source }: { source?: string }) =>
    Number.isInteger(value) && !Number.isSafeInteger(value) && /^-?\d+$/.test(source ?? '') ? source : value) as (
    key: string,
    value: unknown,
  ) => unknown);
}

export function readValues({ input, bodyField }: Operation, { path, query, body }: RestValues): RestReading {
  const message = create(input);
  const violations: Violation[] = [];

  const read = (into: Message, owner: DescMessage, name: string, value: JsonValue, prefix = '') => {
    const field = owner.fields.find((candidate) => candidate.jsonName === name || candidate.name === name);
    if (field === undefined || value === null) return; // unknown fields are ignored, null means absent
    try {
      const json = asProtoJson(field, value);
      mergeFromJson(owner, into, { [field.jsonName]: field.fieldKind === 'list' ? [json] : json });
    } catch {
      const description = `invalid value ${JSON.stringify(value)} for type ${typeOf(field)}`;
      violations.push({ path: prefix + field.jsonName, name: field.jsonName, description });
    }
  };

  for (const [name, text] of Object.entries(path)) read(message, input, name, text);
  for (const [name, text] of query) read(message, input, name, text);
  const field = input.fields.find(({ name }) => name === bodyField);
  if (field?.fieldKind === 'message' && body !== undefined && body !== null) {
    if (typeof body === 'object' && !Array.isArray(body)) {
      const content = create(field.message);
      for (const [name, value] of Object.entries(body)) read(content, field.message, name, value, `${field.jsonName}.`);
      reflect(input, message).set(field, reflect(field.message, content));
    } else {
      violations.push({ path: field.jsonName, name: 'body', description: 'must be a JSON object' });
    }
  }
  return { violations, message };
}

const TRUE = /^(true|t|yes|y|1)$/i;
const FALSE = /^(false|f|no|n|0)$/i;

/** Converts booleans in words and enums in digits, which the transcoder accepts too. */
function asProtoJson(field: DescField, value: JsonValue): JsonValue {
  if (typeof value !== 'string') return value;
  if (field.scalar === ScalarType.BOOL) return TRUE.test(value) || (FALSE.test(value) ? false : value);
  return field.enum !== undefined && /^-?\d+$/.test(value) ? Number(value) : value;
}

function typeOf({ scalar, enum: enumeration, message }: DescField): string {
  return scalar === undefined ? ((enumeration ?? message)?.name ?? '') : (ScalarType[scalar] ?? '').toLowerCase();
}
