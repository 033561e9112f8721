/**
 * `npm run check`: runs each command of the `check:…` scripts of package.json, two at a time. What those that fail say
 * comes last, under their names; then it exits with 1.
 */
import { exec } from 'node:child_process';
import { readFileSync } from 'node:fs';

const { scripts }: { scripts: Readonly<Record<string, string>> } = JSON.parse(readFileSync('package.json', 'utf8'));
const waiting = Object.entries(scripts)
  .filter(([name]) => name.startsWith('check:'))
  .flatMap(([name, commands]) => commands.split(' && ').map((command) => ({ name, command })));
const failures: string[] = [];

/** Runs one command after the other, until none is left. */
async function work(): Promise<void> {
  for (let next = waiting.shift(); next !== undefined; next = waiting.shift()) {
    const { error, said } = await run(next.command);
    if (error === null) process.stdout.write(said);
    else failures.push(`--- ${next.name}\n${said}`);
  }
}

function run(command: string): Promise<{ error: Error | null; said: string }> {
  return new Promise((resolve) => {
    exec(command, { maxBuffer: Infinity }, (error, stdout, stderr) => resolve({ error, said: stdout + stderr }));
  });
}

await Promise.all([work(), work()]);
process.stderr.write(failures.join('\n'));
if (failures.length > 0) process.exitCode = 1;
else process.stdout.write('All checks passed.\n');
