/**
 * Reads request messages, for all who need one. `@bufbuild/protobuf` merges the pieces of a message, as Protobuf
 * demands. But it takes any wire type for that of the field, and lets a field run over the end of its message. So the
 * wire form is checked before, and what does not fit is refused.
 */
import { type DescField, type DescMessage, fromBinary, type Message, ScalarType } from '@bufbuild/protobuf';
import { BinaryReader, WireType } from '@bufbuild/protobuf/wire';
import { apiError } from '../errors.ts';
import type { Operation } from './operations.ts';

/** Reads a request message, without unknown fields. ts-proto's types describe it, too. @throws MALFORMED_BODY */
export function readRequest({ input }: Pick<Operation, 'input'>, bytes: Uint8Array): Message {
  try {
    checkWire(input, new BinaryReader(bytes), bytes, bytes.length);
    return fromBinary(input, bytes, { readUnknownFields: false });
  } catch {
    throw apiError('MALFORMED_BODY', { detail: `it is no ${input.typeName}` });
  }
}

function checkWire(type: DescMessage, reader: BinaryReader, bytes: Uint8Array, end: number): void {
  const fields = fieldsOf(type);
  while (reader.pos < end) {
    const [number, wireType] = reader.tag();
    const field = fields.get(number);
    if (field?.message !== undefined && wireType === WireType.LengthDelimited) {
      const length = reader.uint32();
      checkWire(field.message, reader, bytes, reader.pos + length);
      continue;
    }
    reader.skip(wireType, number);
    if (field === undefined || wireType === field.wireType) continue;
    const isPacked = field.isPackable && wireType === WireType.LengthDelimited;
    const endsWithin = field.wireType === WireType.Varint && Number(bytes[reader.pos - 1]) >= 0x80;
    if (!isPacked || endsWithin) throw new Error(`${type} has a wrong field ${number}`);
  }
  if (reader.pos !== end) throw new Error(`${type} ends within a field`);
}

/** How a field is written. */
interface WireField {
  readonly wireType: WireType;
  readonly isPackable: boolean;
  readonly message: DescMessage | undefined;
}

const FIELDS = new WeakMap<DescMessage, ReadonlyMap<number, WireField>>();

function fieldsOf(type: DescMessage): ReadonlyMap<number, WireField> {
  const fields = FIELDS.get(type) ?? new Map(type.fields.map((field) => [field.number, toWireField(field)]));
  FIELDS.set(type, fields);
  return fields;
}

function toWireField(field: DescField): WireField {
  const { scalar, message } = field;
  const wireType = field.enum ? WireType.Varint : scalar ? wireTypeOf(scalar) : WireType.LengthDelimited;
  const isPackable = field.fieldKind === 'list' && wireType !== WireType.LengthDelimited;
  return { wireType: field.fieldKind === 'map' ? WireType.LengthDelimited : wireType, isPackable, message };
}

function wireTypeOf(scalar: ScalarType): WireType {
  switch (scalar) {
    case ScalarType.STRING:
    case ScalarType.BYTES:
      return WireType.LengthDelimited;
    case ScalarType.DOUBLE:
    case ScalarType.FIXED64:
    case ScalarType.SFIXED64:
      return WireType.Bit64;
    case ScalarType.FLOAT:
    case ScalarType.FIXED32:
    case ScalarType.SFIXED32:
      return WireType.Bit32;
    default:
      return WireType.Varint;
  }
}
