/** Builds the interface description, OpenAPI 3.1, from the services of the proto files. */
import type { DescService, Registry } from '@bufbuild/protobuf';
import { serviceOptions } from '../proto/options.ts';
import { commentOf } from './comments.ts';
import { ErrorResponses } from './error-responses.ts';
import { headerComponents } from './headers.ts';
import type { JsonObject } from './json.ts';
import { describeOperation } from './operations.ts';
import { readPage, settings } from './pages.ts';
import { parameterComponents } from './requests.ts';
import { Schemas } from './schemas.ts';

/** The version of the interface, not of the software. */
const VERSION = '1.0.0';

const KEY = 'apiKey';

/** The pages after the operations. */
const PAGES = ['requests', 'retrying', 'paging', 'conditional-requests', 'errors', 'limits', 'versions'];

/** Describes all services that have a tag in the proto files. */
export function describe(services: readonly DescService[], registry: Registry): JsonObject {
  const schemas = new Schemas(registry);
  const errors = new ErrorResponses(schemas);
  const tagged = services
    .flatMap((service) => {
      const options = serviceOptions(service, registry);
      return options === undefined ? [] : [{ service, tag: options.tag, position: options.position }];
    })
    .sort((a, b) => a.position - b.position);
  const paths: Record<string, JsonObject> = {};
  for (const { service, tag } of tagged) {
    for (const method of service.methods) {
      const described = describeOperation(method, tag, { registry, schemas, errors });
      if (described === undefined) continue;
      paths[described.path] = { ...paths[described.path], [described.method]: described.object };
    }
  }
  return {
    openapi: '3.1.1',
    info: {
      title: 'Pet Store',
      version: VERSION,
      summary: 'Pets, their categories, orders for them, and what is in stock.',
      description: 'The REST and JSON interface of a pet store. The same address serves the same model over gRPC.',
      contact: { name: 'The operator of this pet store' },
      license: { name: 'Apache 2.0', identifier: 'Apache-2.0' },
    },
    servers: [{ url: '/', description: 'This very service.' }],
    security: [{ [KEY]: [] }],
    tags: tags(tagged, errors),
    paths,
    components: {
      schemas: schemas.components,
      parameters: parameterComponents,
      responses: errors.components,
      headers: headerComponents,
      securitySchemes: {
        [KEY]: {
          type: 'http',
          scheme: 'bearer',
          bearerFormat: 'pst_…',
          description: 'An API key, generated from an account: `Authorization: Bearer <API_KEY>`.',
        },
      },
    },
  };
}

/** The page that a reader needs before the operations, the tags of the operations, and the pages after. */
function tags(tagged: readonly { service: DescService; tag: string }[], errors: ErrorResponses): JsonObject[] {
  const values = { ...settings(), errors: errors.table() };
  const byTag = Map.groupBy(tagged, ({ tag }) => tag);
  const ofOperations = [...byTag].map(([name, members]) => ({
    name,
    description: members.map(({ service }) => commentOf(service)).join('\n\n'),
  }));
  return [readPage('getting-started', values), ...ofOperations, ...PAGES.map((name) => readPage(name, values))];
}
