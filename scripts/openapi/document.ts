/** Builds the interface description, OpenAPI 3.1, from the services of the proto files. */
import type { FileRegistry } from '@bufbuild/protobuf';
import { KEY_PREFIXES, NAME, SUMMARY, TITLE } from '../../src/identity.ts';
import { serviceOptions } from '../../src/platform/proto/options.ts';
import { ErrorResponses } from './error-responses.ts';
import { exampleOfMessage, FIRST_ID } from './examples.ts';
import type { JsonObject } from './json.ts';
import { describeOperation } from './operations.ts';
import { BASE, commentOf, folded, readPage, toPage } from './parts.ts';
import { protoParts } from './public-proto.ts';
import { Schemas } from './schemas.ts';

/** The pages after the operations. */
const PAGES = [
  ...['requests-and-responses', 'retrying', 'paging', 'following-changes', 'conditional-requests'],
  ...['errors', 'limits', 'versions'],
];

const REFERENCE = 'gRPC reference';

const OWNED = ' Each account has its own: those of others do not exist for it.';

/** Describes all services that have a tag in the proto files. Their descriptors need the comments. */
export function describe(registry: FileRegistry): JsonObject {
  const schemas = new Schemas(registry);
  const errors = new ErrorResponses();
  const tagged = [...registry.files]
    .flatMap((file) => file.services)
    .flatMap((service) => {
      const options = serviceOptions(service, registry);
      return options === undefined
        ? []
        : [{ service, tag: options.tag, position: options.position, owned: options.owned }];
    })
    .sort((a, b) => a.position - b.position);
  const described = tagged.flatMap(({ service, tag }) =>
    service.methods.flatMap((method) => describeOperation(method, tag, { registry, schemas, errors })),
  );
  const paths: Record<string, JsonObject> = {};
  for (const { path, verb, object } of described) paths[path] = { ...paths[path], [verb]: object };
  const byTag = Map.groupBy(tagged, ({ tag }) => tag);
  const tags = [...byTag].map(([name, members]) => {
    return {
      name,
      description: members.map(({ service, owned }) => commentOf(service) + (owned ? OWNED : '')).join('\n\n'),
    };
  });
  const parts = { schemas: schemas.components, responses: errors.components };
  const text = JSON.stringify([paths, parts]);
  /** Some are of deprecated operations alone, or of those that create something. */
  const used = (kind: 'parameters' | 'headers') => {
    const isUsed = (name: string) => text.includes(`"#/components/${kind}/${name}"`);
    return Object.fromEntries(Object.entries(BASE.components[kind]).filter(([name]) => isUsed(name)));
  };
  const pages = PAGES.map((name) => readPage(name, errors.table()));
  const document = {
    ...BASE,
    tags: [readPage('getting-started', ''), readPage('grpc', ''), ...tags, reference(registry), ...pages],
    paths,
    components: { ...BASE.components, ...parts, parameters: used('parameters'), headers: used('headers') },
  };
  const { location } = described.find(({ operation }) => operation.response.location)?.operation.response ?? {};
  const deprecated = described.find(({ operation }) => operation.deprecation)?.operation;
  return fill(document, {
    name: NAME,
    title: TITLE,
    Title: TITLE.replace(/\b\w/g, (letter) => letter.toUpperCase()),
    summary: SUMMARY,
    keyPrefix: KEY_PREFIXES.account,
    path: described[0]?.path,
    list: described.find(({ operation }) => operation.response.next)?.path,
    created: location?.replace(/\{\w+\}/g, String(FIRST_ID)),
    successor: deprecated?.deprecation?.successorOf(exampleOfMessage(deprecated.input)),
  });
}

/** All of the API over gRPC, beside the operations: the proto file for callers, in parts. */
function reference(registry: FileRegistry): JsonObject {
  const parts = protoParts(registry).map(({ title, text }) => folded(title, 'proto', text));
  return toPage(REFERENCE, [`All of \`/${NAME}.proto\`, by service.`, ...parts].join('\n\n'));
}

/** Fills in each `{{name}}` of a text. */
function fill(document: JsonObject, values: Readonly<Record<string, string | undefined>>): JsonObject {
  const lookUp = (place: string, name: string) => {
    const value = values[name];
    if (value === undefined) throw new Error(`no operation has what the document says at ${place}`);
    return value;
  };
  return JSON.parse(JSON.stringify(document), (_, value) =>
    typeof value === 'string' ? value.replace(/\{\{(\w+)\}\}/g, lookUp) : value,
  );
}
