/**
 * What others' tools make of the description, the proto file and the descriptor set: in each folder of `sessions/` a
 * client is generated and compiled. Most create, read a second page, are refused, and read an event. `npm run
 * test:clients` fetches them. docs/clients.md has a table of them.
 */
import { cpSync, readdirSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { ROOT } from '../../src/platform/launcher/paths.ts';
import { findProgram, sh } from '../support/machine/find-program.ts';
import { freePorts, temporaryFolder } from '../support/scope.ts';
import { testFirstPrograms } from '../support/service/example-programs.ts';
import { stackTest } from '../support/service/shared-stack.ts';
import { testUnless } from '../support/service/sharing.ts';
import type { TestStack } from '../support/service/stack.ts';

stackTest();

const SESSIONS = join(ROOT, 'test/generated-clients/sessions');

const REST = 'Cats true INVALID_ARGUMENT category.created';
const GRPC = 'Cats true INVALID_ARGUMENT category.name category.created';
const PRINTED: Readonly<Record<string, string>> = {
  bruno: 'Cats true API_KEY_INVALID',
  'grpc-php': 'Cats true invalid_argument google.rpc.ErrorInfo category.created',
  'hey-api': 'Cats true IDEMPOTENCY_KEY_REUSED category.created',
  postman: 'Cats true API_KEY_INVALID',
  prism: 'Cats true INVALID_ARGUMENT category.created 0',
  'prost-build': 'pub struct PetPatch',
  'zod-patterns': '400\n201',
};

for (const name of readdirSync(SESSIONS)) {
  const script = readFileSync(join(SESSIONS, name, 'run.sh'), 'utf8');
  const [, needed = ''] = /^# Needs (.+)\.$/m.exec(script) ?? [];
  const missing = needed.split(', ').find((program) => findProgram([program]) === undefined);
  testUnless<TestStack>(missing && `NO ${missing} FOUND for the client of ${name}`).serial(
    `${name} - generates a client that compiles, and works against the service`,
    async (t) => {
      t.timeout(900_000, 'packages are fetched and compiled');
      const { rest, key } = t.context;
      const cwd = temporaryFolder(t);
      cpSync(join(SESSIONS, name), cwd, { recursive: true });
      const [port] = await freePorts(1);
      const env = {
        ...process.env,
        API: rest.url,
        API_KEY: key,
        DOCUMENT: join(ROOT, 'gen/openapi/openapi.yaml'),
        PATH: `${dirname(process.execPath)}:${process.env.PATH}`,
        PORT: String(port),
      };
      const { stdout } = await sh('bash', ['-euo', 'pipefail', 'run.sh'], { cwd, env });
      t.is(stdout.trimEnd(), PRINTED[name] ?? (name.startsWith('grpc-') ? GRPC : REST));
    },
  );
}

/** The first programs of the page "gRPC" whose packages are too many for every run: the others are in test/examples. */
testFirstPrograms({ Java: ['mvn', 'javac'], TypeScript: ['npm', 'protoc'] });
