/**
 * Reads request messages. `@bufbuild/protobuf` merges the pieces of a message, as Protobuf demands. But it takes any
 * wire type for that of the field, and lets a field run over the end of its message. So the wire form is checked first.
 */
import { type DescField, type DescMessage, fromBinary, type Message, ScalarType } from '@bufbuild/protobuf';
import { BinaryReader, WireType } from '@bufbuild/protobuf/wire';
import { apiError } from '../errors.ts';
import type { Operation } from './operations.ts';

/** A message has fewer fields and packed items, unknown ones too: 64 KiB of the shortest would take 20 ms to read. */
const MAX_FIELDS = 1_000;

/** Reads a request message, without unknown fields. ts-proto's types describe it, too. @throws MALFORMED_BODY */
export function readRequest({ input }: Pick<Operation, 'input'>, bytes: Uint8Array): Message {
  try {
    checkWire(input, new BinaryReader(bytes), bytes, bytes.length, { left: MAX_FIELDS });
    return fromBinary(input, bytes, { readUnknownFields: false });
  } catch {
    throw apiError('MALFORMED_BODY', { detail: `it is no ${input.typeName}` });
  }
}

function checkWire(
  type: DescMessage,
  reader: BinaryReader,
  bytes: Uint8Array,
  end: number,
  fields: { left: number },
): void {
  const count = (more: number) => {
    fields.left -= more;
    if (fields.left < 0) throw new Error(`${type} has too many fields`);
  };
  while (reader.pos < end) {
    const [number, wireType] = reader.tag();
    const field = type.fields.find((one) => one.number === number);
    const wanted = field === undefined ? wireType : wireTypeOf(field);
    const isPacked = field?.fieldKind === 'list' && wireType === WireType.LengthDelimited;
    if (wireType !== wanted && !isPacked) throw new Error(`${type} has a wrong field ${number}`);
    if (field?.message !== undefined && field.fieldKind !== 'map') {
      const length = reader.uint32();
      count(1);
      checkWire(field.message, reader, bytes, reader.pos + length, fields);
      continue;
    }
    const start = reader.pos;
    reader.skip(wireType, number);
    // A group has as many fields as fit.
    count(isPacked || wireType === WireType.StartGroup ? reader.pos - start : 1);
    if (wanted === WireType.Varint && Number(bytes[reader.pos - 1]) >= 0x80) {
      throw new Error(`${type} ends within a number of field ${number}`);
    }
  }
  if (reader.pos !== end) throw new Error(`${type} ends within a field`);
}

/** How a value of the field is written, and each item of a list that is not packed. */
function wireTypeOf({ fieldKind, scalar = ScalarType.BYTES, enum: names }: DescField): WireType {
  if (fieldKind === 'map') return WireType.LengthDelimited;
  if (names !== undefined) return WireType.Varint;
  if (scalar === ScalarType.STRING || scalar === ScalarType.BYTES) return WireType.LengthDelimited;
  if ([ScalarType.DOUBLE, ScalarType.FIXED64, ScalarType.SFIXED64].includes(scalar)) return WireType.Bit64;
  if ([ScalarType.FLOAT, ScalarType.FIXED32, ScalarType.SFIXED32].includes(scalar)) return WireType.Bit32;
  return WireType.Varint;
}
