/** Builds the interface description, OpenAPI 3.1, from the services of the proto files. */
import type { FileRegistry } from '@bufbuild/protobuf';
import { serviceOptions } from '../proto/options.ts';
import { commentOf } from './comments.ts';
import { ErrorResponses } from './error-responses.ts';
import type { JsonObject } from './json.ts';
import { describeOperation } from './operations.ts';
import { BASE, readPage } from './parts.ts';
import { Schemas } from './schemas.ts';

/** The pages after the operations. */
const PAGES = [
  ...['requests', 'retrying', 'paging', 'following-changes', 'conditional-requests'],
  ...['errors', 'limits', 'versions'],
];

/** Describes all services that have a tag in the proto files. Their descriptors need the comments. */
export function describe(registry: FileRegistry): JsonObject {
  const schemas = new Schemas(registry);
  const errors = new ErrorResponses();
  const tagged = [...registry.files]
    .flatMap((file) => file.services)
    .flatMap((service) => {
      const options = serviceOptions(service, registry);
      return options === undefined ? [] : [{ service, tag: options.tag, position: options.position }];
    })
    .sort((a, b) => a.position - b.position);
  const paths: Record<string, JsonObject> = {};
  for (const { service, tag } of tagged) {
    for (const method of service.methods) {
      for (const { path, verb, object } of describeOperation(method, tag, { registry, schemas, errors })) {
        paths[path] = { ...paths[path], [verb]: object };
      }
    }
  }
  const byTag = Map.groupBy(tagged, ({ tag }) => tag);
  const tags = [...byTag].map(([name, members]) => {
    return { name, description: members.map(({ service }) => commentOf(service)).join('\n\n') };
  });
  const pages = PAGES.map((name) => readPage(name, errors.table()));
  return {
    ...BASE,
    tags: [readPage('getting-started', ''), ...tags, ...pages],
    paths,
    components: { ...BASE.components, schemas: schemas.components, responses: errors.components },
  };
}
