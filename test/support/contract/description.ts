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

// biome-ignore lint/suspicious/noExplicitAny: any part of the description
type Described = any;
type Operations = Readonly<Record<string, Described>>;

const NAME = 'description';
const described = JSON.parse(readFileSync('gen/openapi/openapi.json', 'utf8').replaceAll('"#/', `"${NAME}#/`));
for (const schema of Object.values<{ type: string; additionalProperties?: boolean }>(described.components.schemas)) {
  if (schema.type === 'object') schema.additionalProperties = false;
}

// Not strict: the description is more than a schema. Each schema is compiled once, on first use.
const ajv = new Ajv2020({ strict: false, validateSchema: false, allErrors: true });
formatsPlugin.default(ajv);
ajv.addSchema(described, NAME);

const hasVerb = (template: string) => /:\w+$/.test(template);
/** The paths with a verb at their end come first: `{id}` matches it too. */
const templates = Object.entries<Operations>(described.paths).sort(
  ([one], [other]) => Number(hasVerb(other)) - Number(hasVerb(one)),
);
const paths = templates.map(([template, operations]) => ({
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

/** Throws when the data of a server-sent event does not match the description. */
export function checkEventAgainstDescription(data: unknown): void {
  const schemas = paths.flatMap(({ operations }) => {
    const { schema } = operations.get?.responses[200]?.content?.['text/event-stream'] ?? {};
    return schema ?? [];
  });
  const problems = schemas.flatMap((schema) => schemaProblems('the data', data, schema));
  if (schemas.length !== 1 || problems.length > 0)
    throw new Error(`no event as the description has it: ${JSON.stringify(data)}: ${problems.join(', ')}`);
}

function problemsOf(method: string, path: string, response: SeenResponse): string[] {
  const [pathname = ''] = path.split('?', 1);
  const found = paths.find(({ pattern }) => pattern.test(pathname));
  if (found === undefined) {
    if (method === 'HEAD') return emptyProblems(response);
    return response.status < 400 ? [] : errorProblems(response, described.components.schemas.ErrorBody);
  }
  const { operations } = found;
  // HEAD is described by GET. The 405 of a method that the path lacks is described by any operation of the path.
  const requested = method === 'HEAD' ? 'get' : method.toLowerCase();
  const name = requested in operations ? requested : (Object.keys(operations)[0] ?? '');
  if (requested !== name && response.status < 400) return ['the path has no such method'];
  const documented = resolved(operations[name]?.responses[response.status]);
  if (documented === undefined) return ['the status is not documented'];
  const { headers = {}, content } = documented;
  const isBodyless = method === 'HEAD' || content === undefined;
  return [
    ...Object.entries(headers).flatMap(([header, own]) => headerProblems(header, resolved(own), response)),
    ...(isBodyless ? emptyProblems(response) : contentProblems(response, content['application/json'])),
  ];
}

function contentProblems(response: SeenResponse, { schema, examples = {} }: Described): string[] {
  return response.status < 400 ? bodyProblems(response, schema) : errorProblems(response, schema, examples);
}

function errorProblems(response: SeenResponse, schema: object, examples?: object): string[] {
  const problems = bodyProblems(response, schema);
  if (problems.length > 0) return problems;
  const { code, status } = JSON.parse(response.text);
  if (status !== response.status) problems.push(`the body says ${status}`);
  if (examples !== undefined && !Object.hasOwn(examples, code))
    problems.push(`the code ${code} is not documented for ${response.status}`);
  return problems;
}

function headerProblems(name: string, { required, schema }: Described, { headers }: SeenResponse): string[] {
  const text = headers.get(name);
  if (text === null) return required ? [`the header ${name} is missing`] : [];
  return schemaProblems(`the header ${name}`, schema.type === 'integer' ? Number(text) : text, schema);
}

function bodyProblems({ headers, text }: SeenResponse, schema: object): string[] {
  if (headers.get('content-type') !== 'application/json') return ['the content type is not application/json'];
  try {
    return schemaProblems('the body', JSON.parse(text), schema);
  } catch {
    return ['the body is not JSON'];
  }
}

function emptyProblems({ text }: SeenResponse): string[] {
  return text === '' ? [] : ['there is a body'];
}

function schemaProblems(what: string, value: unknown, schema: object): string[] {
  const validate = ajv.compile(schema);
  if (validate(value)) return [];
  return (validate.errors ?? []).map(({ instancePath, message, params }) => {
    return `${what}${instancePath} ${message} ${JSON.stringify(params)}`;
  });
}

/** What a reference leads to; anything else is itself. */
function resolved(value: Described): Described {
  const steps: string[] = value?.$ref?.split('/').slice(1) ?? [];
  return value?.$ref === undefined ? value : steps.reduce((found, step) => found[step], described);
}
