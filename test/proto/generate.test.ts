/** `npm run generate`, in a copy of what it reads. */
import { spawnSync } from 'node:child_process';
import { cpSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { ExecutionContext } from 'ava';
import { ROOT } from '../../src/platform/launcher/paths.ts';
import { temporaryFolder } from '../support/machine/folder.ts';
import { fresh } from '../support/service/sharing.ts';

const INPUTS = ['proto', 'third_party', 'src', 'scripts', 'docs', 'gen', 'buf.yaml', 'config'];
const PETS = 'proto/petstore/v1/pets.proto';
const REFUSED = 'message NewPet {\n  // One.\n  string colour = 9 [(buf.validate.field).string.prefix = "x"];\n';

const test = fresh(undefined, (t) => {
  const copy = temporaryFolder(t);
  for (const name of [...INPUTS, 'package.json']) cpSync(join(ROOT, name), join(copy, name), { recursive: true });
  symlinkSync(join(ROOT, 'node_modules'), join(copy, 'node_modules'));
  return { copy };
});

function generate({ copy }: { copy: string }): { status: number | null; stderr: string } {
  const PATH = `${join(ROOT, 'node_modules/.bin')}:${process.env.PATH}`;
  return spawnSync(process.execPath, ['scripts/generate.ts'], { cwd: copy, encoding: 'utf8', env: { PATH } });
}

function isAsInRepository(t: ExecutionContext<{ copy: string }>): void {
  const paths = [join(ROOT, 'gen'), join(t.context.copy, 'gen')];
  t.is(spawnSync('diff', ['-rq', ...paths], { encoding: 'utf8' }).stdout, '');
}

test('Generation - a failure says what is wrong in one line, and changes nothing', (t) => {
  const pets = join(t.context.copy, PETS);
  const before = readFileSync(pets, 'utf8');
  writeFileSync(pets, before.replace('message NewPet {\n', REFUSED));
  const { status, stderr } = generate(t.context);
  t.is(status, 1);
  const [fault, rest, ...more] = stderr.trimEnd().split('\n');
  t.regex(fault ?? '', /field petstore\.v1\.NewPet\.colour: the document does not support the rule prefix$/);
  t.is(rest, 'Nothing was generated: gen and docs/settings.md are as before');
  t.deepEqual(more, []);
  isAsInRepository(t);
  writeFileSync(pets, before.replace('message NewPet {\n', 'message NewPet {\n  Colour colour = 9;\n'));
  t.regex(generate(t.context).stderr, /^proto\/petstore\/v1\/pets\.proto:\d+:\d+:cannot find `Colour` in this scope\n/);
  isAsInRepository(t);
});

test('Generation - needs nothing of gen/, of which files may be missing or broken', (t) => {
  const gen = join(t.context.copy, 'gen');
  for (const file of ['petstore', 'openapi', 'client/services.ts']) rmSync(join(gen, file), { recursive: true });
  for (const file of ['descriptors.binpb', 'google/rpc/status.ts', 'client/methods.ts']) {
    writeFileSync(join(gen, file), 'broken');
  }
  t.is(generate(t.context).stderr, '');
  isAsInRepository(t);
});
