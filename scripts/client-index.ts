/** What the package of the typed client publishes, from the proto files. */
import type { DescEnum, DescMessage } from '@bufbuild/protobuf';
import { API_PACKAGE, CLASS_NAME, NAME } from '../src/identity.ts';
import type { Operations } from '../src/platform/proto/operations.ts';

/** A TypeScript module with the client of all services, and their messages. */
export function clientIndex({ byPath }: Operations): string {
  const operations = [...byPath.values()].filter(({ isPublic }) => isPublic);
  const returned = partsOf(
    operations.flatMap(({ output, response, isStream }) => {
      if (isStream) return []; // a list has the same messages
      return response.list === undefined ? [output] : within(output);
    }),
  );
  const sent = partsOf(operations.flatMap(({ input }) => within(input)));
  const exported = [...returned.union(sent)].map((part) => {
    const { kind, file } = part;
    const name = part.typeName.slice(API_PACKAGE.length + 1).replaceAll('.', '_'); // of one in another: Outer_Inner
    if (kind === 'enum') return `export { ${name} } from '../${file.name}.ts';`;
    if (returned.has(part)) return `export type { ${name} } from '../${file.name}.ts';`;
    const whole = `import type { ${name} as Whole${name} } from '../${file.name}.ts';`;
    return `${whole}\nexport type ${name} = Input<Whole${name}>;`;
  });
  return `// Made from the proto files by "npm run generate". DO NOT EDIT.
/**
 * The typed gRPC client: \`import { createClient } from '${NAME}-client'\`. See docs/client.md, its README.
 *
 * Messages are those of the proto files as ts-proto generates them: \`bigint\` for int64, fields in camelCase. Of those
 * that are only sent lists may be left out (\`Input\`).
 */
import { type Client, clientOf } from '../../src/platform/client/client.ts';
import type { EventOf } from '../../src/platform/client/events.ts';
import type { ClientOptions } from '../../src/platform/client/index.ts';
import type { Input } from '../../src/platform/client/methods.ts';
import { FEED, SERVICES } from './services.ts';

export { CallError as ${CLASS_NAME}Error } from '../../src/platform/client/call-error.ts';
export * from '../../src/platform/client/index.ts';

${exported.join('\n')}

/** The services, and the feed of events. */
export interface ${CLASS_NAME}Client extends Client<typeof SERVICES, EventOf<typeof FEED.watchEvents>> {}

/**
 * A client of the server at \`address\`, with an account's API key. It connects with the first call. Use one per
 * process: its calls share a connection, and stay within the account's limits together.
 */
export function createClient(options: ClientOptions): ${CLASS_NAME}Client {
  return clientOf(SERVICES, FEED.watchEvents, options);
}
`;
}

type Part = DescMessage | DescEnum;

function within({ fields }: DescMessage): readonly Part[] {
  return fields.flatMap(({ message, enum: values }) => message ?? values ?? []);
}

/** These messages and enums and those within them, as far as they are of the public package. */
function partsOf(roots: readonly Part[]): ReadonlySet<Part> {
  const parts = new Set<Part>();
  const add = (part: Part): void => {
    if (parts.has(part) || part.file.proto.package !== API_PACKAGE) return;
    parts.add(part);
    if (part.kind === 'message') within(part).forEach(add);
  };
  roots.forEach(add);
  return parts;
}
