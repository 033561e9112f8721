/**
 * Holds each request to the `buf.validate` rules of the proto files. Messages without rules pass at no cost.
 *
 * The REST body's field counts as an empty message when it is absent, so that an empty body is told
 * which fields it lacks.
 */
import { create, type DescMessage, type FileRegistry, type Message } from '@bufbuild/protobuf';
import { reflect } from '@bufbuild/protobuf/reflect';
import { createValidator, type Violation as RuleViolation } from '@bufbuild/protovalidate';
import { invalidArgument, type Violation } from '../errors.ts';
import { decodeRequest, type Operation } from '../operations.ts';
import type { Interceptor } from './chain.ts';

export function validation(registry: FileRegistry): Interceptor {
  const validator = createValidator({ registry });
  const validated = new Map<DescMessage, boolean>();

  const isValidated = (input: DescMessage) => {
    let answer = validated.get(input);
    if (answer === undefined) {
      answer = hasRules(input, new Set());
      validated.set(input, answer);
    }
    return answer;
  };

  return {
    name: 'validation',
    after: { errors: 'so that a rule that can not be evaluated is answered as an error' },
    async intercept(call, next) {
      const { operation } = call;
      if (isValidated(operation.input)) {
        const message = decode(operation, call.requestBytes);
        const result = validator.validate(operation.input, message);
        if (result.kind === 'error') throw result.error;
        if (result.kind === 'invalid') throw invalidArgument(result.violations.map(toViolation));
      }
      return next(call);
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
function decode(operation: Operation, bytes: Uint8Array): Message {
  const message = decodeRequest(operation, bytes);
  const body = operation.input.fields.find(({ name }) => name === operation.bodyField);
  if (body?.fieldKind === 'message') {
    const view = reflect(operation.input, message);
    if (!view.isSet(body)) view.set(body, reflect(body.message, create(body.message)));
  }
  return message;
}

function toViolation({ field, message, ruleId }: RuleViolation): Violation {
  const names = field.flatMap((step) => (step.kind === 'field' ? [step] : []));
  const last = names.at(-1);
  return {
    path: names.map(({ name }) => name).join('.'),
    name: last?.jsonName ?? '',
    description: message || ruleId,
  };
}
