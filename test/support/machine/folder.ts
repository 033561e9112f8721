import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { ExecutionContext } from 'ava';

/** Makes an empty folder. It is deleted at the end of the test, after all that is torn down until then. */
export function temporaryFolder({ teardown }: Pick<ExecutionContext, 'teardown'>): string {
  const folder = mkdtempSync(join(tmpdir(), 'petstore-folder-'));
  teardown(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}
