/**
 * Checks every REST response that a test receives against gen/openapi/openapi.json: status, headers and body. It also
 * refuses undocumented fields, and codes of errors that are not among the examples of the response.
 */
import { readFileSync } from 'node:fs';
import { Ajv2020 } from 'ajv/dist/2020.js';
import formatsPlugin from 'ajv-formats';

export interface SeenResponse {
  readonly status: number;
  readonly headers: Headers;
  readonly text: string;
}

const ROOT = 'description';
const described = JSON.parse(readFileSync('gen/openapi/openapi.json', 'utf8'));
for (const schema of Object.values<{ type: string; additionalProperties?: boolean }>(described.components.schemas)) {
  if (schema.type === 'object') schema.additionalProperties = false;
}

// Not strict: the description is more than a schema. Each schema is compiled once, on first use.
const ajv = new Ajv2020({ strict: false, validateSchema: false, allErrors: true });
formatsPlugin.default(ajv);
ajv.addSchema(described, ROOT);

const hasVerb = (template: string) => /:\w+$/.test(template);
/** The paths with a verb at their end come first: `{id}` matches it too. */
const templates = Object.entries<object>(described.paths).sort(
  ([one], [other]) => Number(hasVerb(other)) - Number(hasVerb(one)),
);
const paths = templates.map(([template, operations]) => ({
  template,
  operations,
  // Like the transcoder: an id is anything but a slash, and slashes at the end are ignored.
  pattern: new RegExp(`^${template.replace(/\{\w+\}/g, '[^/]+')}/*$`),
}));

/** The names of headers that Envoy removes from every response. */
export function internalHeaders(headers: Headers): string[] {
  return [...headers.keys()].filter((name) => /^(x-petstore-|x-envoy-|grpc-)/.test(name));
}

/**
 * Throws when a response does not match the description, with every problem and the whole response. A path that is not
 * in the description, such as an empty one, has only what holds for every response.
 */
export function checkAgainstDescription(method: string, path: string, response: SeenResponse): void {
  const problems = internalHeaders(response.headers).map((name) => `it has the internal header ${name}`);
  problems.push(...problemsOf(method, path, response));
  if (problems.length === 0) return;
  const { status, headers, text } = response;
  const headerLines = [...headers].map(([name, value]) => `  ${name}: ${value}`);
  throw new Error(
    [
      `${method} ${path} answered ${status}, not as gen/openapi/openapi.json says:`,
      ...problems.map((problem) => `- ${problem}`),
      'The whole response:',
      ...headerLines,
      `  ${text}`,
    ].join('\n'),
  );
}

const EVENTS = 'text/event-stream';

/** Throws when the data of a server-sent event does not match the description. */
export function checkEventAgainstDescription(data: unknown): void {
  const problems = paths.flatMap(({ template }) => {
    const content = `#/paths/${escaped(template)}/get/responses/200/content/${escaped(EVENTS)}`;
    return at(content) === undefined ? [] : [schemaProblems('the data', data, `${content}/schema`)];
  });
  if (problems.length !== 1 || problems[0]?.length !== 0) {
    throw new Error(`no event as the description has it: ${JSON.stringify(data)}: ${problems.flat().join(', ')}`);
  }
}

function problemsOf(method: string, path: string, response: SeenResponse): string[] {
  const [pathname = ''] = path.split('?', 1);
  const found = paths.find(({ pattern }) => pattern.test(pathname));
  if (found === undefined) {
    if (method === 'HEAD') return emptyProblems(response);
    return response.status < 400 ? [] : errorProblems(response, '#/components/schemas/ErrorBody');
  }
  const { template, operations } = found;
  // HEAD is described by GET. The 405 of a method that the path lacks is described by any operation of the path.
  const requested = method === 'HEAD' ? 'get' : method.toLowerCase();
  const name = requested in operations ? requested : Object.keys(operations)[0];
  if (requested !== name && response.status < 400) return ['the path has no such method'];
  const pointer = follow(`#/paths/${escaped(template)}/${name}/responses/${response.status}`);
  if (pointer === undefined) return ['the status is not documented'];
  const { headers = {}, content } = at(pointer);
  const isBodyless = method === 'HEAD' || content === undefined;
  return [
    ...Object.keys(headers).flatMap((header) => headerProblems(header, `${pointer}/headers/${header}`, response)),
    ...(isBodyless ? emptyProblems(response) : contentProblems(response, pointer)),
  ];
}

function contentProblems(response: SeenResponse, pointer: string): string[] {
  const content = `${pointer}/content/application~1json`;
  if (response.status < 400) return bodyProblems(response, `${content}/schema`);
  return errorProblems(response, `${content}/schema`, at(content).examples ?? {});
}

/** `examples` are the documented ones, by code. */
function errorProblems(response: SeenResponse, schema: string, examples?: object): string[] {
  const problems = bodyProblems(response, schema);
  if (problems.length > 0) return problems;
  const { code, status } = JSON.parse(response.text);
  if (status !== response.status) problems.push(`the body says ${status}`);
  if (examples !== undefined && !Object.hasOwn(examples, code))
    problems.push(`the code ${code} is not documented for ${response.status}`);
  return problems;
}

function headerProblems(name: string, pointer: string, { headers }: SeenResponse): string[] {
  const target = follow(pointer) ?? pointer;
  const { required, schema } = at(target);
  const text = headers.get(name);
  if (text === null) return required ? [`the header ${name} is missing`] : [];
  return schemaProblems(`the header ${name}`, schema.type === 'integer' ? Number(text) : text, `${target}/schema`);
}

function bodyProblems({ headers, text }: SeenResponse, pointer: string): string[] {
  if (headers.get('content-type') !== 'application/json') return ['the content type is not application/json'];
  try {
    return schemaProblems('the body', JSON.parse(text), pointer);
  } catch {
    return ['the body is not JSON'];
  }
}

function emptyProblems({ text }: SeenResponse): string[] {
  return text === '' ? [] : ['there is a body'];
}

function schemaProblems(what: string, value: unknown, pointer: string): string[] {
  const validate = ajv.getSchema(`${ROOT}${pointer}`);
  if (validate === undefined) throw new Error(`the description has no schema at ${pointer}`);
  if (validate(value)) return [];
  return (validate.errors ?? []).map(({ instancePath, message, params }) => {
    return `${what}${instancePath} ${message} ${JSON.stringify(params)}`;
  });
}

/** Resolves the reference at a pointer, if there is one; undefined when the pointer leads nowhere. */
function follow(pointer: string): string | undefined {
  const value = at(pointer);
  return value === undefined ? undefined : (value.$ref ?? pointer);
}

function at(pointer: string) {
  const steps = pointer.split('/').slice(1);
  return steps.reduce((value, step) => value?.[step.replaceAll('~1', '/').replaceAll('~0', '~')], described);
}

function escaped(key: string): string {
  return key.replaceAll('~', '~0').replaceAll('/', '~1');
}
