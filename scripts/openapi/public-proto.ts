/**
 * The public services as one proto file without options of ours: compilers of every language take it, and people read
 * it, since its comments have the paths on REST, the rules and the errors. All of it comes from the descriptors.
 */
import type {
  DescEnum,
  DescField,
  DescFile,
  DescMessage,
  DescMethod,
  DescOneof,
  DescService,
} from '@bufbuild/protobuf';
import { ScalarType } from '@bufbuild/protobuf';
import { MethodOptions_IdempotencyLevel as Level } from '@bufbuild/protobuf/wkt';
import { API_PACKAGE, CLASS_NAME, TITLE } from '../../src/identity.ts';
import { type Operations, toOperation } from '../../src/platform/proto/operations.ts';
import { fieldOptions, operationOptions, serviceOptions } from '../../src/platform/proto/options.ts';
import { rulesOf, toKeywords } from './constraints.ts';
import { EVERYWHERE, OF_WRITES, onGrpc } from './error-responses.ts';
import type { JsonObject } from './json.ts';
import { commentOf } from './parts.ts';

const WIDTH = 92;
const OWN = `${API_PACKAGE}.`;

export interface ProtoPart {
  /** The name of a service, or of what all services share. */
  readonly title: string;
  readonly text: string;
}

type Registry = Operations['registry'];

/** The parts: what stands above, each service with the messages that its methods are the first to name. */
export function protoParts(registry: Registry): readonly ProtoPart[] {
  const files = [...registry.files].filter(({ proto }) => proto.package === API_PACKAGE);
  const services = files.flatMap((file) => file.services);
  const positionOf = (service: DescService) => serviceOptions(service, registry)?.position ?? 0;
  services.sort((a, b) => positionOf(a) - positionOf(b));
  const printed = new Set<DescMessage | DescEnum>();
  const parts = services.map((service) => {
    const types = service.methods.flatMap(({ input, output }) => [...used(input, printed), ...used(output, printed)]);
    const texts = [serviceText(service, registry), ...types.map((type) => typeText(type, registry))];
    return { title: service.name, text: texts.join('\n') };
  });
  return [{ title: 'File', text: head(files) }, ...parts];
}

/** The file. */
export function publicProto(registry: Registry): string {
  return protoParts(registry)
    .map(({ text }) => text)
    .join('\n');
}

/** The types that a message needs, itself first; each one once. */
function used(type: DescMessage | DescEnum, printed: Set<DescMessage | DescEnum>): (DescMessage | DescEnum)[] {
  if (printed.has(type) || !type.typeName.startsWith(OWN)) return [];
  printed.add(type);
  if (type.kind === 'enum') return [type];
  const inner = type.fields.flatMap(({ message, enum: values }) => message ?? values ?? []);
  return [type, ...inner.flatMap((one) => used(one, printed))];
}

function head(files: readonly DescFile[]): string {
  const imports = files.flatMap(({ dependencies }) => dependencies.map(({ proto }) => proto.name));
  const wellKnown = [...new Set(imports)].filter((name) => name.startsWith('google/protobuf/')).sort();
  const about = [
    `The ${TITLE} over gRPC, from the descriptors that the service runs by, without their options for servers.`,
    'Each call has the metadata `authorization: Bearer <API_KEY>`. A name after "Errors" is the reason of ' +
      '`google.rpc.ErrorInfo`, with the status in parentheses.',
    `Errors of every method: ${onGrpc(EVERYWHERE)}`,
    `Errors of every method without NO_SIDE_EFFECTS, for a key that only reads: ${onGrpc(OF_WRITES)}`,
  ];
  return [
    comment(about.join('\n\n')),
    '',
    'syntax = "proto3";',
    '',
    `package ${API_PACKAGE};`,
    '',
    ...wellKnown.map((name) => `import "${name}";`),
    '',
    `option go_package = "${files[0]?.proto.options?.goPackage}";`,
    'option java_multiple_files = true;',
    `option java_outer_classname = "${CLASS_NAME}Proto";`,
    '',
  ].join('\n');
}

function serviceText(service: DescService, registry: Registry): string {
  const methods = service.methods.map((method) => methodText(method, registry));
  return `${comment(commentOf(service))}\nservice ${service.name} {\n${methods.join('\n\n')}\n}\n`;
}

function methodText(method: DescMethod, registry: Registry): string {
  const operation = toOperation(method, registry);
  const options = operationOptions(method, registry);
  const stability = registry.getEnum('apiplatform.rest.v1.Stability')?.value[options?.stability ?? 0];
  const [route] = operation.routes;
  const metadata = [
    operation.takesIdempotencyKey && 'idempotency-key',
    operation.condition === 'if-match' && 'if-match',
  ];
  const codes = [
    ...(options?.errors ?? []),
    ...(operation.takesIdempotencyKey ? ['IDEMPOTENCY_KEY_REUSED'] : []),
    ...(operation.condition === 'if-match' ? ['PRECONDITION_FAILED'] : []),
  ];
  const facts = [
    stability?.number && `${stability.name.replace(/^STABILITY_/, '')}: ${commentOf(stability)}`,
    route && `REST: ${route.method} ${route.template}`,
    metadata.some(Boolean) && `Metadata: ${metadata.filter(Boolean).join(', ')}`,
    codes.length > 0 && `Errors: ${onGrpc(codes)}`,
  ];
  const text = [commentOf(method), facts.filter(Boolean).join('\n')].join('\n\n');
  const lines = [
    method.deprecated && 'option deprecated = true;',
    method.idempotency !== undefined && method.idempotency !== Level.IDEMPOTENCY_UNKNOWN
      ? `option idempotency_level = ${Level[method.idempotency]};`
      : undefined,
  ].filter(Boolean);
  const stream = operation.isStream ? 'stream ' : '';
  const rpc = `  rpc ${method.name}(${nameOf(method.input)}) returns (${stream}${nameOf(method.output)})`;
  const body = lines.length > 0 ? ` {\n${lines.map((line) => `    ${line}\n`).join('')}  }` : ';';
  return `${comment(text, '  ')}\n${rpc}${body}`;
}

function typeText(type: DescMessage | DescEnum, registry: Registry): string {
  const members =
    type.kind === 'enum' ? type.values.map(valueText) : type.members.map((one) => memberText(one, registry));
  const body = members.length > 0 ? `{\n${members.join('\n')}\n}` : '{}';
  return `${comment(commentOf(type))}\n${type.kind} ${type.name} ${body}\n`;
}

function valueText(value: DescEnum['values'][number]): string {
  return `${comment(commentOf(value), '  ')}\n  ${value.name} = ${value.number};`;
}

function memberText(member: DescField | DescOneof, registry: Registry): string {
  if (member.kind === 'field') return fieldText(member, registry, '  ');
  const fields = member.fields.map((field) => fieldText(field, registry, '    '));
  return `  oneof ${member.name} {\n${fields.join('\n')}\n  }`;
}

function fieldText(field: DescField, registry: Registry, indent: string): string {
  if (field.fieldKind === 'map') throw new Error(`${field.toString()}: the file for callers does not support a map`);
  const rules = [...rulesInWords(field), ...(fieldOptions(field, registry)?.outputOnly ? ['ignored on input'] : [])];
  const text = [commentOf(field), ...(rules.length > 0 ? [`Rules: ${rules.join('; ')}.`] : [])].join('\n');
  const label = field.fieldKind === 'list' ? 'repeated ' : field.proto.proto3Optional ? 'optional ' : '';
  const type = field.message ?? field.enum;
  const typeName = type === undefined ? ScalarType[field.scalar as ScalarType].toLowerCase() : nameOf(type);
  return `${comment(text, indent)}\n${indent}${label}${typeName} ${field.name} = ${field.number};`;
}

function nameOf({ typeName }: DescMessage | DescEnum): string {
  return typeName.startsWith(OWN) ? typeName.slice(OWN.length) : typeName;
}

/** The rules of a field, from what the description says of it; in the words of its messages, where it has such. */
function rulesInWords(field: DescField): string[] {
  const { required, cel } = rulesOf(field);
  const messages = (cel as readonly { readonly message: string }[] | undefined)?.map(({ message }) => message);
  return [...(required === true ? ['required'] : []), ...(messages ?? inWords(toKeywords(field)))];
}

function inWords(keywords: JsonObject): string[] {
  const {
    minimum,
    maximum,
    minLength,
    maxLength,
    pattern,
    enum: values,
    minItems,
    maxItems,
    uniqueItems,
    items,
  } = keywords;
  const bounds = (min: unknown, max: unknown, unit: string) => {
    if (min === undefined && max === undefined) return false;
    return `${min === undefined ? 'at most ' : max === undefined ? 'at least ' : `${min} to `}${max ?? min}${unit}`;
  };
  return [
    bounds(minimum, maximum, ''),
    bounds(minLength, maxLength, ' characters'),
    pattern !== undefined && `matches ${pattern}`,
    values !== undefined && `one of ${(values as readonly string[]).join(', ')}`,
    bounds(minItems, maxItems, ' items'),
    uniqueItems === true && 'each once',
    ...(items === undefined ? [] : inWords(items as JsonObject).map((rule) => `each ${rule}`)),
  ].filter((one) => typeof one === 'string');
}

/** A comment of proto files, with its lines folded. */
function comment(text: string, indent = ''): string {
  return text
    .split('\n')
    .flatMap((line) => folded(line, WIDTH - indent.length - 3))
    .map((line) => `${indent}// ${line}`.trimEnd())
    .join('\n');
}

function folded(text: string, width: number): string[] {
  const lines = [''];
  for (const word of text.split(' ')) {
    const line = lines.at(-1) ?? '';
    if (line !== '' && line.length + 1 + word.length > width) lines.push(word);
    else lines[lines.length - 1] = line === '' ? word : `${line} ${word}`;
  }
  return lines;
}
