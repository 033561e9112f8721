/**
 * Writes response messages as JSON: the mapping of proto3 (https://protobuf.dev/programming-guides/json), but with
 * int64 as numbers. A writer is compiled once from the descriptor of a message.
 *
 * A field without presence is always written. An absent optional field is left out, and so is an empty list, which
 * protobuf's binary form does not have: so the entity tag, a digest of that, changes if and only if the JSON does.
 */
import { type DescField, type DescMessage, ScalarType } from '@bufbuild/protobuf';
import type { Timestamp } from '../../../../gen/google/protobuf/timestamp.ts';
import { type ListField, TIMESTAMP, wrappedList } from '../../proto/fields.ts';
import { isOutputOnly } from '../../proto/options.ts';

type Write<T = unknown> = (value: T) => string;

/** Compiles a writer for messages of this type, as ts-proto represents them. */
export function jsonWriter({ fields }: DescMessage): Write {
  const writers = fields.map((field) => ({
    property: field.localName,
    isList: field.fieldKind === 'list',
    name: `${JSON.stringify(field.jsonName)}:`,
    write: fieldWriter(field),
  }));
  return (message) => {
    const values = message as Readonly<Record<string, unknown>>;
    let text = '';
    for (const { property, isList, name, write } of writers) {
      const value = values[property];
      if (value === undefined || (isList && (value as readonly unknown[]).length === 0)) continue;
      text += `${text === '' ? '' : ','}${name}${write(value)}`;
    }
    return `{${text}}`;
  };
}

/** Compiles a writer for the values of a repeated field, as an array. */
export function jsonArrayWriter(field: ListField): Write {
  const write = valueWriter(field);
  return (values) => `[${(values as readonly unknown[]).map(write).join()}]`;
}

function fieldWriter(field: DescField): Write {
  const list = wrappedList(field);
  if (list !== undefined) {
    const write = jsonArrayWriter(list);
    return (message) => write((message as Readonly<Record<string, unknown>>)[list.localName]);
  }
  return field.fieldKind === 'list' ? jsonArrayWriter(field) : valueWriter(field);
}

function valueWriter(field: DescField): Write {
  if (field.message?.typeName === TIMESTAMP) {
    // What a caller has sent has no more digits than it needs.
    const surplus = isOutputOnly(field) ? /(000){1,2}$/ : /(000){1,3}$/;
    return (value) => writeTimestamp(value as Timestamp, surplus);
  }
  if (field.message !== undefined) return jsonWriter(field.message);
  if (field.enum !== undefined) {
    const names = new Map(field.enum.values.map(({ number, name }) => [number, JSON.stringify(name)]));
    return (value) => names.get(value as number) ?? String(value);
  }
  switch (field.scalar) {
    case ScalarType.STRING:
      return JSON.stringify;
    case ScalarType.BOOL:
    case ScalarType.INT32:
    case ScalarType.INT64:
      return String;
    default:
      throw new Error(`${field} has a type that is not supported yet`);
  }
}

/** RFC 3339 with 0, 3, 6 or 9 digits of a second: all but those that are `surplus`. */
function writeTimestamp({ seconds, nanos }: Timestamp, surplus: RegExp): string {
  const digits = String(nanos).padStart(9, '0').replace(surplus, '');
  const second = new Date(Number(seconds) * 1_000).toISOString().slice(0, -'.000Z'.length);
  return `"${second}${digits === '' ? '' : `.${digits}`}Z"`;
}

/** Ends of lines to some readers of JSON line by line, who would stop there: Python's `splitlines` for one. */
const LINE_ENDS = /[\u0085\u2028\u2029]/g;

/** The same JSON as one line to every reader. */
export function onOneLine(json: string): string {
  return json.replace(LINE_ENDS, (end) => `\\u${end.charCodeAt(0).toString(16).padStart(4, '0')}`);
}
