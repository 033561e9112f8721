import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Scope } from '../scope.ts';

/** Makes an empty folder. It is deleted at the end of the test, after all that is torn down until then. */
export function temporaryFolder({ teardown }: Scope): string {
  const folder = mkdtempSync(join(tmpdir(), 'petstore-folder-'));
  teardown(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}
