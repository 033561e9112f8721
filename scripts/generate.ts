/**
 * Generates everything under `gen/` from the proto files, and docs/settings.md from the declared settings.
 * `npm run generate [-- FOLDER]` generates into another folder.
 */
import { execFileSync } from 'node:child_process';
import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import { fromBinary } from '@bufbuild/protobuf';
import { FileDescriptorSetSchema } from '@bufbuild/protobuf/wkt';
import openapiTS, { astToString } from 'openapi-typescript';
import { loadOperations } from '../src/proto/operations.ts';
import { clientMethods } from './client-methods.ts';
import { settingsPage } from './settings-page.ts';

const target = process.argv[2] ?? '.';
const gen = join(target, 'gen');

function buf(...args: string[]): void {
  execFileSync('buf', args, { stdio: 'inherit' });
}

rmSync(gen, { recursive: true, force: true });
mkdirSync(gen, { recursive: true });
buf('generate', '--output', target);
buf('generate', '--template', 'buf.gen.openapi.yaml', '--output', target);
// For Envoy's transcoder, for reflection, and for the options that the server reads at start.
const descriptors = join(gen, 'petstore.binpb');
buf('build', '--as-file-descriptor-set', '--exclude-source-info', '--output', descriptors);
const operations = loadOperations(fromBinary(FileDescriptorSetSchema, readFileSync(descriptors)));
// For callers, at /petstore.binpb: the public services and what they import.
const publicly = ['--path', 'proto/petstore/v1', '--as-file-descriptor-set', '--exclude-source-info'];
buf('build', ...publicly, '--output', join(gen, 'public.binpb'));
// For the typed client.
mkdirSync(join(gen, 'client'));
writeFileSync(join(gen, 'client/methods.ts'), clientMethods(operations));
// The types of the REST side, for openapi-fetch and the like.
const description = pathToFileURL(resolve(gen, 'openapi/openapi.yaml'));
writeFileSync(join(gen, 'openapi/types.ts'), astToString(await openapiTS(description)));
// The docs page of the settings.
mkdirSync(join(target, 'docs'), { recursive: true });
writeFileSync(join(target, 'docs/settings.md'), settingsPage());
