/**
 * Evaluates the `buf.validate` rules of the proto files, and what they can't say: no text has U+0000, which PostgreSQL
 * can't store, and the nanoseconds of a Timestamp, to which rules have no access, are those that RFC 3339 can express.
 */
import { create, type FileRegistry, isFieldSet, isMessage, type Message } from '@bufbuild/protobuf';
import { TimestampSchema } from '@bufbuild/protobuf/wkt';
import { createValidator, type Violation as RuleViolation } from '@bufbuild/protovalidate';
import type { Violation } from '../errors.ts';
import { fieldAt, noneOf } from './fields.ts';
import type { Operation } from './operations.ts';

/** Finds the rules that a message violates; an absent REST body as an empty one. Lists that are too long are cut. */
export type FindViolations = (operation: Operation, message: Message) => readonly Violation[];

export function createValidation(registry: FileRegistry): FindViolations {
  const validator = createValidator({ registry });
  return (operation, message) => {
    cutLists(message);
    const result = validator.validate(operation.input, withBody(operation, message));
    if (result.kind === 'error') throw result.error;
    const found = (result.violations ?? []).map(({ field, message, ruleId }) => {
      const last = field.findLast((step) => step.kind === 'field');
      const isOfEnum = ruleId.startsWith('enum.') && last?.enum !== undefined;
      const ours = (message || ruleId).replace(/^must be in list \[(.*)]$/, 'is none of $1');
      return { path: toPath(field), description: isOfEnum ? noneOf(last) : ours };
    });
    const further = unstorable(message).filter(({ path }) => found.every((other) => other.path !== path));
    return [...found, ...further].map(({ description, ...found }) => {
      const { path, name } = fieldAt(operation, found.path);
      return { path, name, description };
    });
  };
}

/** More items than the rule of any list allows. To judge tens of thousands would take the server half a second. */
export const MAX_JUDGED = 500;

function cutLists(value: unknown): void {
  if (typeof value !== 'object' || value === null || ArrayBuffer.isView(value)) return;
  if (Array.isArray(value)) value.length = Math.min(value.length, MAX_JUDGED);
  for (const member of Object.values(value)) cutLists(member);
}

/** Sets an absent REST body to an empty message. */
function withBody({ input, bodyField }: Operation, message: Message): Message {
  const body = input.fields.find(({ name }) => name === bodyField);
  if (body?.message === undefined || isFieldSet(message, body)) return message;
  return { ...message, [body.localName]: create(body.message) };
}

/** The texts and Timestamps that no rule refuses and that can't be stored or shown, in lists too. */
function unstorable(value: unknown, path = ''): Omit<Violation, 'name'>[] {
  if (typeof value === 'string') return value.includes('\0') ? [{ path, description: 'must not contain U+0000' }] : [];
  if (Array.isArray(value)) return value.flatMap((item, index) => unstorable(item, `${path}[${index}]`));
  if (typeof value !== 'object' || value === null || !('$typeName' in value)) return [];
  if (isMessage(value, TimestampSchema)) {
    const isNormal = value.nanos >= 0 && value.nanos <= 999_999_999;
    return isNormal ? [] : [{ path, description: 'must have 0 to 999,999,999 nanoseconds' }];
  }
  return Object.entries(value).flatMap(([name, member]) => unstorable(member, join(path, name)));
}

/** An item of a list has its index: `thing.tags[2]`. */
function toPath(steps: RuleViolation['field']): string {
  return steps.reduce((path, step) => {
    if (step.kind === 'field') return join(path, step.jsonName);
    return step.kind === 'list_sub' ? `${path}[${step.index}]` : path;
  }, '');
}

function join(path: string, name: string): string {
  return path === '' ? name : `${path}.${name}`;
}
