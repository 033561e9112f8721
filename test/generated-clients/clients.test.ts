/**
 * What others' tools make of the description and the descriptor set: generated clients in Go and Python, each in a
 * session with the service, a validator of Python's, and Rust. `npm run test:clients` fetches them.
 */
import { copyFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { ExecutionContext } from 'ava';
import { ROOT } from '../../src/platform/launcher/paths.ts';
import { findProgram, sh } from '../support/machine/find-program.ts';
import { temporaryFolder } from '../support/machine/folder.ts';
import { freePorts } from '../support/machine/ports.ts';
import { sharing } from '../support/service/sharing.ts';
import { startTestStack, type TestStack } from '../support/service/stack.ts';

const OAPI_CODEGEN = 'github.com/oapi-codegen/oapi-codegen/v2/cmd/oapi-codegen@v2.8.0';
const DOCUMENT = join(ROOT, 'gen/openapi/openapi.yaml');

const missing = ['go', 'python3', 'cargo', 'curl'].find((name) => findProgram([name]) === undefined);
const test = sharing<TestStack>(missing && `NO ${missing} FOUND, so generated clients are not tested`, startTestStack);

/** Runs shell commands in a folder of their own, beside the session's program. Resolves with the output. */
async function run(t: ExecutionContext<TestStack>, program: string, commands: string): Promise<string> {
  t.timeout(900_000, 'packages are fetched and compiled');
  const { rest, key } = t.context;
  const cwd = temporaryFolder(t);
  await copyFile(join(ROOT, 'test/generated-clients', program), join(cwd, program));
  const PATH = `${cwd}/packages/bin:${process.env.PATH}`;
  const env = { ...process.env, PATH, PYTHONPATH: `${cwd}/packages`, API: rest.url, API_KEY: key, DOCUMENT };
  return (await sh('bash', ['-euo', 'pipefail', '-c', commands], { cwd, env })).stdout;
}

const SESSION = 'Cats true INVALID_ARGUMENT\n';

test('oapi-codegen - its client in Go compiles, and speaks with the service', async (t) => {
  const commands = `
    go mod init example.com/shop >&2
    mkdir client
    go run ${OAPI_CODEGEN} -generate types,client -package client -o client/client.go "$DOCUMENT"
    go mod tidy >&2
    go run .`;
  t.is(await run(t, 'session.go', commands), SESSION);
});

test('prost-build - generates Rust from the descriptor set, with our comments', async (t) => {
  const commands = `
    cargo init --quiet --vcs none --name generate
    mv prost.rs src/main.rs
    cargo add --quiet prost@=0.14.1 prost-build@=0.14.1 prost-types@=0.14.1
    curl -s "$API/petstore.binpb" -o petstore.binpb
    cargo run --quiet petstore.binpb
    cat petstore.v1.rs`;
  t.regex(await run(t, 'prost.rs', commands), /\/\/\/ Any fields of NewPet.*pub struct PetPatch/s);
});

/** They write the patterns into code and headers. */
test('Patterns - zod schemas of hey-api and openapi-zod-client parse; Prism survives a bad name', async (t) => {
  const [port] = await freePorts(1);
  const commands = `
    npm install --silent --no-save --prefix . @hey-api/openapi-ts@0.99.0 typescript@5.9.3 \\
      openapi-zod-client@1.18.3 @stoplight/prism-cli@5.16.0 >&2
    PATH="$PWD/node_modules/.bin:$PATH"
    openapi-ts -i "$DOCUMENT" -o hey -p zod >&2
    openapi-zod-client "$DOCUMENT" -o zod.ts >&2
    tsc --noEmit --noCheck --noResolve --target es2022 hey/zod.gen.ts zod.ts >&2
    prism proxy "$DOCUMENT" "$API" -p ${port} >&2 &
    trap "kill $!" EXIT
    create() {
      curl -s --retry 30 --retry-connrefused -w ' %{http_code}\\n' -o /dev/null "http://127.0.0.1:${port}/categories" \\
        -H "Authorization: Bearer $API_KEY" -H 'Content-Type: application/json' -d "$1"
    }
    create '{"name":"a\\tb"}'
    create '{"name":"Cats"}'`;
  t.is(await run(t, 'session.py', commands), ' 400\n 201\n');
});

test("openapi-python-client - its client speaks with the service; Python's validator takes the document", async (t) => {
  const commands = `
    python3 -mpip install --quiet --root-user-action=ignore --target packages \\
      openapi-python-client==0.29.1 openapi-spec-validator==0.9.0
    python3 -m openapi_spec_validator "$DOCUMENT" >&2
    packages/bin/openapi-python-client generate --path "$DOCUMENT" --output-path client --meta none >&2
    python3 session.py`;
  t.is(await run(t, 'session.py', commands), SESSION);
});
