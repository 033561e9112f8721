/** A copy of the repository's files as they are, changed or new ones too. */
import { execFileSync } from 'node:child_process';
import { cpSync, symlinkSync } from 'node:fs';
import { ROOT } from '../src/platform/launcher/paths.ts';

/** Copies them into a folder, and links what is installed. */
export function copyTree(folder: string): void {
  const listed = ['ls-files', '--cached', '--others', '--exclude-standard', '--deduplicate', '-z'];
  const files = execFileSync('git', listed, { cwd: ROOT, encoding: 'utf8' }).split('\0').filter(Boolean);
  for (const file of files) cpSync(`${ROOT}/${file}`, `${folder}/${file}`, { verbatimSymlinks: true });
  for (const made of ['node_modules', '.envoy']) symlinkSync(`${ROOT}/${made}`, `${folder}/${made}`);
}
