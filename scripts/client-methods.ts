/** What the typed client needs to know besides messages, from the proto files. */
import { basename } from 'node:path';
import { API_PACKAGE } from '../src/identity.ts';
import type { Operation, Operations } from '../src/platform/proto/operations.ts';

/** A TypeScript module with lists of gRPC paths, and the request message of each. */
export function clientMethods({ byPath }: Operations): string {
  const operations = [...byPath.values()].filter(({ isPublic }) => isPublic);
  const list = (name: string, comment: string, paths: readonly string[]) =>
    [`/** ${comment} */`, `export const ${name} = [`, ...paths.map((path) => `  '${path}',`), '] as const;', ''].join(
      '\n',
    );
  const paths = (holds: (one: Operation) => boolean) => operations.filter(holds).map(({ path }) => path);
  const byFile = Map.groupBy(new Set(operations.map(({ input }) => input)), ({ file }) => file.name);
  const imports = [...byFile].map(([file, messages]) => {
    return `import {\n${messages.map(({ name }) => `  ${name},\n`).join('')}} from '../${file}.ts';\n`;
  });
  return [
    '// Made from the proto files by "npm run generate". DO NOT EDIT.\n',
    imports.join(''),
    list(
      'IDEMPOTENT',
      'Methods that may be called again with nothing changing any more.',
      paths((one) => one.isIdempotent),
    ),
    list(
      'CREATING',
      'Methods that take an idempotency key.',
      paths((one) => one.takesIdempotencyKey),
    ),
    list(
      'CONDITIONAL',
      'Methods that take a condition (`if-match`).',
      paths((one) => one.condition === 'if-match'),
    ),
    '/** The request messages. `fromPartial` fills in the default of every field, as deep as messages go. */',
    'export const REQUESTS: Readonly<Record<string, { fromPartial(partial: never): object }>> = {',
    ...operations.map(({ path, input }) => `  '${path}': ${input.name},`),
    '};\n',
  ].join('\n');
}

/** A TypeScript module with the feed, and the services whose methods are all unary, under the names of their files. */
export function clientServices({ registry, byPath }: Operations): string {
  const files = [...registry.files].filter(({ proto }) => proto.package === API_PACKAGE);
  const services = files.flatMap(({ name: path, services }) =>
    services
      .filter(({ methods }) => methods.every(({ methodKind }) => methodKind === 'unary'))
      .map(({ name }) => ({ path, key: basename(path), definition: `${name}Service` })),
  );
  services.sort((one, other) => (one.key < other.key ? -1 : 1));
  const feed = [...byPath.values()].find(({ isEventStream, isPublic }) => isEventStream && isPublic);
  if (feed === undefined) throw new Error('the public package has no feed of events');
  const [, service = ''] = feed.path.split('/');
  const file = registry.getService(service)?.file.name;
  return [
    '// Made from the proto files by "npm run generate". DO NOT EDIT.',
    ...services.map(({ path, definition }) => `import { ${definition} } from '../${path}.ts';`),
    '',
    '/** The feed of events. */',
    `export { ${service.split('.').at(-1)}Service as FEED } from '../${file}.ts';`,
    '',
    '/** The services whose methods are all unary, under the names of their proto files. */',
    'export const SERVICES = {',
    ...services.map(({ key, definition }) => `  ${key}: ${definition},`),
    '} as const;',
    '',
  ].join('\n');
}
