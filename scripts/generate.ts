/** Makes everything under `gen/` from the proto files. `npm run generate [-- FOLDER]`: into FOLDER/gen instead. */
import { execFileSync } from 'node:child_process';
import { mkdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';

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
