/** Makes everything under `gen/` from the proto files. `npm run generate [-- FOLDER]`: into FOLDER/gen instead. */
import { execFileSync } from 'node:child_process';
import { mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import openapiTS, { astToString } from 'openapi-typescript';

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
buf('build', '--as-file-descriptor-set', '--exclude-source-info', '--output', join(gen, 'petstore.binpb'));
// The types of the REST side, for openapi-fetch and the like.
const description = pathToFileURL(resolve(gen, 'openapi/openapi.yaml'));
writeFileSync(join(gen, 'openapi/types.ts'), astToString(await openapiTS(description)));
