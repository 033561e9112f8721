/** A copy of the repository that serves what the suites call, too, behind Envoy's public port. */
import { execFileSync } from 'node:child_process';
import { cpSync, readFileSync, renameSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { create, fromBinary, toBinary } from '@bufbuild/protobuf';
import { type FileDescriptorSet, FileDescriptorSetSchema } from '@bufbuild/protobuf/wkt';
import { ROOT } from '../../src/platform/launcher/paths.ts';
import { INTEROP_SERVICE } from './interop-service.ts';

const FOLDERS = ['envoy', 'gen', 'src', 'test'];
const LINKED = ['node_modules', '.envoy', 'package.json', 'docs-page', 'docs'];

/**
 * Writes the copy into an empty folder. `protos` has the proto files of connectconformance, and `interop` is the
 * descriptors of grpc-go's tests.
 */
export function copyWithServices(folder: string, protos: string, interop: Uint8Array): void {
  for (const name of FOLDERS) cpSync(join(ROOT, name), join(folder, name), { recursive: true });
  for (const name of LINKED) symlinkSync(join(ROOT, name), join(folder, name));
  addDescriptors(folder, protos, interop);
  const services = join(folder, 'src/shop/services.ts');
  renameSync(services, join(folder, 'src/shop/shop-services.ts'));
  writeFileSync(
    services,
    `import { conformanceService } from '../../test/conformance/service.ts';
import { shopServices as all } from './shop-services.ts';
export const shopServices = (...parts: Parameters<typeof all>) => [...all(...parts), conformanceService()];\n`,
  );
  const edit = (name: string, from: RegExp, to: string) => {
    const file = join(folder, name);
    const before = readFileSync(file, 'utf8');
    const after = before.replace(from, to);
    if (after === before) throw new Error(`${file} has no ${from}`);
    writeFileSync(file, after);
  };
  // This one reads its messages itself.
  const server = 'src/server.ts';
  edit(server, /(?<=methods: \[)/, '...serve(operations, interopService(), of.unknown),');
  edit(server, /^import/m, "import { interopService } from '../test/conformance/interop-service.ts';\nimport");
  // Ours are bounded, by contract. grpc-go's tests send 271,828 bytes.
  edit('src/platform/config/constants.ts', /MAX_BODY_BYTES = 65_536/, 'MAX_BODY_BYTES = 524_288');
  // Our errors have details, by contract. The suite takes any that its service does not add for a fault.
  edit('src/platform/protocols/grpc/errors.ts', /message, details }/, 'message, details: [] }');
  // The service tells of all headers. The callers of the suites have no key.
  const key = "'Bearer ' + process.env.CONFORMANCE_KEY";
  const headers = `{ authorization: ${key}, ...headers, 'x-conformance-headers': JSON.stringify(headers) }`;
  edit('src/platform/rpc/call.ts', /this\.#headers = headers;/, `this.#headers = ${headers};`);
  // The public port is for this package, and gives its callers a key.
  const operations = 'src/platform/proto/operations.ts';
  edit(operations, /API_PREFIX = .*/, "API_PREFIX = '/connectrpc.conformance.v1.';");
  edit(operations, /routes\.length > 0 && !isPublic/, 'false'); // the shop is still there
  edit('envoy/config/routes.ts', /(\{ match: \{ prefix: )API_PREFIX(.*)/, "$&\n$1'/grpc.testing.'$2");
  const append = `{ append: header('authorization', ${key}, 'ADD_IF_ABSENT') },`;
  edit('envoy/config/filters.ts', /(function boundary.*?request_mutations: \[)/s, `$1 ${append}`);
}

function addDescriptors(folder: string, protos: string, interop: Uint8Array): void {
  const built = join(folder, 'suite.binpb');
  execFileSync('buf', ['build', protos, '--as-file-descriptor-set', '-o', built], { cwd: folder });
  for (const own of ['descriptors', 'transcoder'].map((name) => join(folder, `gen/${name}.binpb`))) {
    const sets = [readFileSync(built), servedOnly(interop), readFileSync(own)];
    const all = new Map(sets.flatMap((bytes) => parse(bytes).file.map((file) => [file.name, file])));
    writeFileSync(own, toBinary(FileDescriptorSetSchema, create(FileDescriptorSetSchema, { file: [...all.values()] })));
  }
}

function parse(bytes: Uint8Array): FileDescriptorSet {
  return fromBinary(FileDescriptorSetSchema, bytes);
}

/** A server starts only if it serves what the descriptors have. */
function servedOnly(interop: Uint8Array): Uint8Array {
  const set = parse(interop);
  const served = /^(EmptyCall|UnaryCall|StreamingOutputCall|StreamingInputCall|FullDuplexCall)$/;
  for (const file of set.file) {
    file.service = file.service.filter(({ name }) => INTEROP_SERVICE.endsWith(`.${name}`));
    for (const service of file.service) service.method = service.method.filter(({ name }) => served.test(name));
  }
  return toBinary(FileDescriptorSetSchema, set);
}
