/**
 * The forms of google.api.http that nothing here carries: Envoy's transcoder would read many of them, but the server,
 * json.lua or the description would not. A method that has one ends the start and `npm run generate`, which also knows
 * the line. test/rest/forms.test.ts walks them, and sends what is carried through Envoy.
 */
import type { DescField, DescMessage, DescMethod } from '@bufbuild/protobuf';
import { jsonTypeOf, wrappedList } from './fields.ts';
import type { HttpRule } from './options.ts';
import { fieldsIn, type Path } from './paths.ts';

/** What a method says of its REST side. */
interface Subject {
  readonly rule: HttpRule;
  readonly path: Path;
  readonly method: DescMethod;
  /** The response is bytes: health and files of the platform itself, which no description lists. */
  readonly isRaw: boolean;
  /** The fields that the body has, and those of the query. */
  readonly inBody: readonly DescField[];
  readonly inQuery: readonly DescField[];
}

const SEGMENT = String.raw`(?:[\w.~-]+|\{\w+\})`;
const PATH = new RegExp(`^(?:/${SEGMENT})+(?::[\\w-]+)?$`);
const IN_PATH = ['whole', 'string', 'bool', 'enum'];
const IN_QUERY = [...IN_PATH, 'time'];

/** In this order: what is wrong, if it is, and what to write instead. */
const FORMS: readonly (readonly [found: (subject: Subject) => string | false | undefined, instead: string])[] = [
  [({ rule }) => rule.pattern.case === undefined && 'no path', 'write get, post, put, patch or delete'],
  [
    ({ rule: { pattern }, isRaw }) => pattern.case === 'custom' && !isRaw && `the method ${pattern.value.kind}`,
    'write get, post, put, patch or delete; a GET has its HEAD by itself',
  ],
  [
    ({ rule, isRaw }) => rule.additionalBindings.length > 0 && !isRaw && 'additional_bindings',
    'write a method for each path',
  ],
  [({ rule }) => rule.responseBody !== '' && 'response_body', 'let the method return that message'],
  [({ method }) => isStreamOfRequests(method) && 'a stream of requests', 'leave google.api.http out: it is for gRPC'],
  [({ path }) => path.template.includes('*') && 'a wildcard', 'write {field} for a segment'],
  [({ path, isRaw }) => !isRaw && path.template.includes('=') && 'a field with a value', 'write {field} or the value'],
  [
    ({ path, method }) => fieldsIn(path).find((name) => !method.input.fields.some(isSingle(name))),
    'a field of a path is one of the request: a whole number of int32 or int64, a string, a bool or an enum, no list',
  ],
  [
    ({ path, isRaw }) => !isRaw && !PATH.test(path.template) && `the path "${path.template}"`,
    'write segments of letters, digits, "-", ".", "_" and "~", or of one {field} each, and perhaps a :verb',
  ],
  [({ path }) => fieldsIn(path).find((name, index, all) => all.indexOf(name) < index), 'a path has each field once'],
  [({ rule }) => rule.body !== '' && rule.pattern.case === 'get' && 'a body of GET', 'write post, or leave body out'],
  [
    ({ rule: { body }, method }) =>
      body !== '' && body !== '*' && !isMessage(method.input, body) && `the body "${body}"`,
    'write "*" or the name of a field that is one message, not a list nor a part of another field',
  ],
  [({ rule, path }) => fieldsIn(path).find((name) => name === rule.body), 'it is in the path and the body'],
  [({ inBody, method }) => wrongIn(inBody, [method.input]), 'JSON of requests has no such type here'],
  [
    ({ inQuery }) => inQuery.find((field) => !IN_QUERY.includes(jsonTypeOf(field) ?? ''))?.toString(),
    'it is in the query, which has no messages, maps, bytes, nor numbers but int32 and int64: write a body',
  ],
];

/** @throws Error when the method has a form that nothing carries. */
export function checkForms(subject: Subject): void {
  const { method } = subject;
  for (const [find, instead] of FORMS) {
    const found = find(subject);
    if (found) throw new Error(`${placeOf(method)}${method.parent.typeName}.${method.name}: ${found}: ${instead}`);
  }
}

const [SERVICE, METHOD, OPTIONS, HTTP] = [6, 2, 4, 72_295_728];

/** `things.proto:12: `, where the option begins, if the descriptors say it. */
function placeOf({ proto, parent }: DescMethod): string {
  const { file } = parent;
  const at = [SERVICE, file.proto.service.indexOf(parent.proto), METHOD, parent.proto.method.indexOf(proto)];
  const [option, method] = [[...at, OPTIONS, HTTP], at].map((path) =>
    file.proto.sourceCodeInfo?.location.find((one) => path.every((step, index) => one.path[index] === step)),
  );
  const [line] = (option ?? method)?.span ?? [];
  return `${file.name}.proto${line === undefined ? '' : `:${line + 1}`}: `;
}

function isStreamOfRequests({ methodKind }: DescMethod): boolean {
  return methodKind === 'client_streaming' || methodKind === 'bidi_streaming';
}

function isSingle(name: string) {
  return (field: DescField) =>
    field.name === name && field.fieldKind !== 'list' && IN_PATH.includes(jsonTypeOf(field) ?? '');
}

function isMessage({ fields }: DescMessage, name: string): boolean {
  const field = fields.find((one) => one.name === name);
  return field?.fieldKind === 'message' && wrappedList(field) === undefined && jsonTypeOf(field) === 'object';
}

/** What of these fields, and of those in them, is in no JSON of a request. */
function wrongIn(fields: readonly DescField[], parents: readonly DescMessage[]): string | undefined {
  for (const field of fields) {
    const item = wrappedList(field) ?? field;
    const type = jsonTypeOf(item);
    if (type === undefined) return field.toString();
    if (type !== 'object' || item.message === undefined) continue;
    if (parents.includes(item.message)) return `${item.message.typeName}, which contains itself`;
    const found = wrongIn(item.message.fields, [...parents, item.message]);
    if (found !== undefined) return found;
  }
  return undefined;
}
