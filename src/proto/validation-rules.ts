/** Evaluates the `buf.validate` rules of the proto files. No text may have U+0000, which PostgreSQL can't store. */
import { create, type DescMessage, type FileRegistry, type Message } from '@bufbuild/protobuf';
import { reflect } from '@bufbuild/protobuf/reflect';
import { createValidator, type Violation as RuleViolation } from '@bufbuild/protovalidate';
import type { Violation } from '../errors.ts';
import { decodeRequest, type Operation } from './operations.ts';

/**
 * Finds the rules that a request message violates. A message without rules is not even decoded. An absent REST body is
 * validated as an empty message, so the violations name its required fields.
 *
 * @throws MALFORMED_BODY
 */
export type FindViolations = (operation: Operation, bytes: Uint8Array) => readonly Violation[];

export function createValidation(registry: FileRegistry): FindViolations {
  const validator = createValidator({ registry });
  const isRuled = new Map<DescMessage, boolean>();
  return (operation, bytes) => {
    const { input } = operation;
    if (!isRuled.has(input)) isRuled.set(input, hasRules(input, new Set()));
    if (!isRuled.get(input)) return [];
    const message = decodeRequest(operation, bytes);
    const result = validator.validate(input, withBody(operation, message));
    if (result.kind === 'error') throw result.error;
    const violations = result.kind === 'invalid' ? result.violations.map(toViolation) : [];
    const isNew = ({ path }: Violation) => violations.every((other) => other.path !== path);
    return [...violations, ...textsWithNul(message).filter(isNew)];
  };
}

const OPTION_EXTENSION = 1159; // the field number of all buf.validate options

function hasRules(message: DescMessage, seen: Set<DescMessage>): boolean {
  if (seen.has(message)) return false;
  seen.add(message);
  const isRuled = (options: Message | undefined) =>
    options?.$unknown?.some(({ no }) => no === OPTION_EXTENSION) ?? false;
  return (
    isRuled(message.proto.options) ||
    message.fields.some(
      (field) => isRuled(field.proto.options) || (field.message !== undefined && hasRules(field.message, seen)),
    )
  );
}

/** Sets an absent REST body to an empty message. */
function withBody({ input, bodyField }: Operation, message: Message): Message {
  const body = input.fields.find(({ name }) => name === bodyField);
  if (body?.fieldKind === 'message') {
    const view = reflect(input, message);
    if (!view.isSet(body)) view.set(body, reflect(body.message, create(body.message)));
  }
  return message;
}

function textsWithNul(message: object, parents: readonly string[] = []): Violation[] {
  return Object.entries(message).flatMap(([name, value]: [string, unknown]) => {
    const path = [...parents, name];
    if (typeof value === 'string' && value.includes('\0')) {
      return [{ path: path.join('.'), name, description: 'must not contain U+0000' }];
    }
    const isMessage = typeof value === 'object' && value !== null && '$typeName' in value;
    return isMessage ? textsWithNul(value, path) : [];
  });
}

function toViolation({ field, message, ruleId }: RuleViolation): Violation {
  const names = field.flatMap((step) => (step.kind === 'field' ? [step] : []));
  const last = names.at(-1);
  return {
    path: names.map(({ jsonName }) => jsonName).join('.'),
    name: last?.jsonName ?? '',
    description: message || ruleId,
  };
}
