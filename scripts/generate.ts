/**
 * Generates everything under `gen/` from the proto files and the dashboard's table, and docs/settings.md from the
 * declared settings: into a temporary folder, which takes the place of `gen/` when all of it is there. So a failure
 * changes nothing, and nothing here reads `gen/`, which may be missing or broken. With `--check` it compares instead,
 * and fails when a file is stale.
 */
import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import { fromBinary, toBinary } from '@bufbuild/protobuf';
import { FileDescriptorSetSchema } from '@bufbuild/protobuf/wkt';
import openapiTS, { astToString } from 'openapi-typescript';
import { Scalar, stringify } from 'yaml';
import { API_PACKAGE } from '../src/identity.ts';
import { loadOperations } from '../src/platform/proto/operations.ts';
import { onOneLine } from '../src/platform/protocols/rest/json.ts';
import { callersPage } from './callers-page.ts';
import { clientIndex } from './client-index.ts';
import { clientMethods, clientServices } from './client-methods.ts';
import { dashboard } from './dashboard.ts';
import { describe } from './openapi/document.ts';
import type { JsonObject } from './openapi/json.ts';
import { publicProto } from './openapi/public-proto.ts';
import { settingsPage } from './settings-page.ts';
import { transcoderSet } from './transcoder-set.ts';

const GENERATED = ['gen', 'docs/settings.md'];
/** No aliases and folded lines, which are hard to read; quotes where YAML 1.1 would read a string as a timestamp. */
const YAML = { aliasDuplicateObjects: false, lineWidth: 0, schema: 'yaml-1.1' } as const;

// Here and not in the system's folder, which may be on another file system than `gen/`.
mkdirSync('build', { recursive: true });
const fresh = mkdtempSync('build/generate-');
try {
  await generate(fresh);
  for (const path of GENERATED) {
    if (!process.argv.includes('--check')) replace(path);
    else if (spawnSync('diff', ['-rq', path, join(fresh, path)], { stdio: 'inherit' }).status !== 0)
      fail(`${path} is stale: run "npm run generate" and commit what it changes`);
  }
} catch (error) {
  const reason = error instanceof Error ? error.message : error;
  fail(`${reason}\nNothing was generated: ${GENERATED.join(' and ')} are as before`);
} finally {
  rmSync(fresh, { recursive: true });
}

async function generate(target: string): Promise<void> {
  const gen = join(target, 'gen');
  buf('generate', '--template', 'config/buf.gen.yaml', '--output', target);
  writeFileSync(join(gen, '.gitattributes'), '** linguist-generated\n'); // GitHub folds its changes
  // For reflection, and for the options that the server reads at start: as they are in the proto files.
  const plain = join(gen, 'descriptors.binpb');
  build(plain, '--exclude-source-info');
  // The interface description, from the comments too.
  const commented = join(target, 'commented.binpb');
  build(commented);
  const operations = loadOperations(fromBinary(FileDescriptorSetSchema, readFileSync(commented)));
  // For Envoy's transcoder.
  const descriptors = fromBinary(FileDescriptorSetSchema, readFileSync(plain));
  writeFileSync(join(gen, 'transcoder.binpb'), transcoderSet(descriptors, operations));
  const document = describe(operations.registry);
  mkdirSync(join(gen, 'openapi'));
  writeFileSync(join(gen, 'openapi/openapi.json'), `${JSON.stringify(document, undefined, 2)}\n`);
  writeFileSync(join(gen, 'openapi/openapi.yaml'), toYaml(document));
  writeFileSync(join(gen, 'docs.md'), callersPage(document));
  // For callers, to generate code from: the public services and what they import.
  const published = join(gen, 'public.binpb');
  build(published, '--path', join('proto', API_PACKAGE.replaceAll('.', '/')));
  writeFileSync(published, withOwnComments(readFileSync(published)));
  writeFileSync(join(gen, 'public.proto'), publicProto(operations.registry)); // the same, for compilers and people
  // For the typed client.
  mkdirSync(join(gen, 'client'));
  writeFileSync(join(gen, 'client/methods.ts'), clientMethods(operations));
  writeFileSync(join(gen, 'client/services.ts'), clientServices(operations));
  writeFileSync(join(gen, 'client/index.ts'), clientIndex(operations));
  // The types of the REST side, for openapi-fetch and the like.
  const description = pathToFileURL(resolve(gen, 'openapi/openapi.yaml'));
  writeFileSync(join(gen, 'openapi/types.ts'), astToString(await openapiTS(description)));
  // For Grafana.
  writeFileSync(join(gen, 'dashboard.json'), dashboard());
  // The docs page of the settings.
  mkdirSync(join(target, 'docs'));
  writeFileSync(join(target, 'docs/settings.md'), settingsPage());
}

/**
 * Escapes what breaks lines in YAML 1.1, as parsers in Python, Go and Java read it, but not in 1.2: the same characters
 * as in server-sent events.
 */
function toYaml(document: JsonObject): string {
  const quoted = (_: unknown, value: unknown) =>
    typeof value === 'string' && onOneLine(value) !== value
      ? Object.assign(new Scalar(value), { type: Scalar.QUOTE_DOUBLE })
      : value;
  return onOneLine(stringify(document, quoted, YAML));
}

/** Writes a set of descriptors. */
function build(output: string, ...options: readonly string[]): void {
  buf('build', '--as-file-descriptor-set', '--output', output, ...options);
}

/**
 * Keeps the source info of our own files, with the comments that generators write into code, and of these the locations
 * of elements, whose paths are of pairs. Strict readers, such as prost-build, want all of these or no source info.
 */
function withOwnComments(set: Uint8Array): Uint8Array {
  const descriptors = fromBinary(FileDescriptorSetSchema, set);
  for (const file of descriptors.file) {
    if (!existsSync(join('proto', file.name))) delete file.sourceCodeInfo;
    const { location = [] } = file.sourceCodeInfo ?? {};
    const elements = location.filter(({ path }) => path.length % 2 === 0);
    location.splice(0, location.length, ...elements);
  }
  return toBinary(FileDescriptorSetSchema, descriptors);
}

/** Runs buf. Throws what it says of a failure. */
function buf(...args: string[]): void {
  const { status, stderr, error } = spawnSync('buf', args, { encoding: 'utf8' });
  if (status !== 0) throw error ?? new Error(stderr.trimEnd());
}

function replace(path: string): void {
  if (existsSync(path)) renameSync(path, join(fresh, 'old'));
  renameSync(join(fresh, path), path);
  rmSync(join(fresh, 'old'), { recursive: true, force: true });
}

function fail(message: string): void {
  process.stderr.write(`${message}\n`);
  process.exitCode = 1;
}
