/** The programs of the suites, and grpcurl. go.mod and go.sum pin them, and each state of both is built once. */
import { createHash } from 'node:crypto';
import { existsSync, readFileSync } from 'node:fs';
import { mkdir, mkdtemp, rename, rm } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { ROOT } from '../../src/platform/launcher/paths.ts';
import { missing, sh } from '../support/machine/find-program.ts';

const MODULE = join(ROOT, 'test/conformance');

export const noGo = missing('go', 'golang');

/** Runs `go` in the module of the suites, or in another, behind the tests that measure nothing of it. */
export async function go(
  args: readonly string[],
  env: Readonly<Record<string, string>> = {},
  cwd = MODULE,
): Promise<string> {
  const options = { cwd, env: { ...process.env, ...env } };
  return (await sh('nice', ['-n', '10', 'go', ...args], options)).stdout;
}

/** What callers of gRPC try out with. */
export const GRPCURL = 'github.com/fullstorydev/grpcurl/cmd/grpcurl';

/** Resolves with the folder of the programs of these packages. Several tests may ask for the same ones at once. */
export async function buildPrograms(...packages: readonly string[]): Promise<string> {
  const state = createHash('sha256').update(packages.join());
  for (const name of ['go.mod', 'go.sum', 'descriptors/main.go']) state.update(readFileSync(join(MODULE, name)));
  const folder = join(ROOT, 'node_modules/.cache/conformance', state.digest('hex').slice(0, 16));
  if (existsSync(folder)) return folder;
  await mkdir(dirname(folder), { recursive: true });
  const unfinished = await mkdtemp(`${folder}.`);
  await go(['install', ...packages], { GOBIN: unfinished });
  await rename(unfinished, folder).catch(async (error: unknown) => {
    if (!existsSync(folder)) throw error;
    await rm(unfinished, { recursive: true }); // another test was faster
  });
  return folder;
}
