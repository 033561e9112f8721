/** The `buf.validate` rules of the proto files, and which of them a message breaks. */
import { create, type DescMessage, type FileRegistry, type Message } from '@bufbuild/protobuf';
import { reflect } from '@bufbuild/protobuf/reflect';
import { createValidator, type Violation as RuleViolation } from '@bufbuild/protovalidate';
import type { Violation } from '../errors.ts';
import type { Operation } from './operations.ts';

export interface ValidationRules {
  /** Whether the operation's request has any rule: without one there is nothing to look at. */
  has(operation: Operation): boolean;
  /**
   * Every rule that the request message breaks. The REST body's field counts as an empty message when it is absent,
   * so that an empty body is told which fields it lacks.
   */
  violations(operation: Operation, message: Message): readonly Violation[];
}

export function createValidationRules(registry: FileRegistry): ValidationRules {
  const validator = createValidator({ registry });
  const ruled = new Map<DescMessage, boolean>();
  return {
    has({ input }) {
      let answer = ruled.get(input);
      if (answer === undefined) {
        answer = hasRules(input, new Set());
        ruled.set(input, answer);
      }
      return answer;
    },
    violations(operation, message) {
      const result = validator.validate(operation.input, withBody(operation, message));
      if (result.kind === 'error') throw result.error;
      return result.kind === 'invalid' ? result.violations.map(toViolation) : [];
    },
  };
}

const OPTION_EXTENSION = 1159; // the field number of every buf.validate option

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

/** The request message, with an absent REST body as an empty one. */
function withBody({ input, bodyField }: Operation, message: Message): Message {
  const body = input.fields.find(({ name }) => name === bodyField);
  if (body?.fieldKind === 'message') {
    const view = reflect(input, message);
    if (!view.isSet(body)) view.set(body, reflect(body.message, create(body.message)));
  }
  return message;
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
