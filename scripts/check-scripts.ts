/**
 * Checks the form of the scripts of package.json. Each installs what is missing before all else, or begins with another
 * script that does; `check` runs those of its parts. It installs in a subshell: a shell keeps in mind where it found
 * `node`, and what comes next must run on the Node that has just been installed. The last program takes the place of
 * the shell, which would not pass on a signal of npm.
 */
import { readFileSync } from 'node:fs';

const FORM = /^\(node scripts\/bootstrap\.mjs( tools| schemathesis)?\) && (.* && )?(\w+=\S+ )*exec [^&]+$/;
const ANOTHER = /^([A-Z]+=\S+ )?npm (run|test)\b/;

const { scripts }: { scripts: Readonly<Record<string, string>> } = JSON.parse(readFileSync('package.json', 'utf8'));
for (const [name, command] of Object.entries(scripts)) {
  if (name.startsWith('check:') || FORM.test(command) || ANOTHER.test(command)) continue;
  const form = '(node scripts/bootstrap.mjs tools) && exec …';
  process.stderr.write(`package.json: the script "${name}" must have the form "${form}"\n`);
  process.exitCode = 1;
}
