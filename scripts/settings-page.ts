/** docs/settings.md, from the declared settings. */
import type { Setting } from '../src/platform/config/setting.ts';
import { GROUPS } from '../src/settings.ts';

const MAX_LINE = 120;

const HEAD = `# Settings

<!-- Generated from src/platform/config/ by "npm run generate". -->

Settings are environment variables, read at start, as in \`PORT=9000 npm start\`. An empty variable counts as unset. A
bad value ends the start with one line that says what it must be.

A secret may stand in a file: set \`<NAME>_FILE\` to its path instead of \`<NAME>\`. This works for the settings that
are marked "secret" below.
`;

export function settingsPage(): string {
  const names = Object.values(GROUPS).flatMap((group) => Object.keys(group));
  const twice = names.find((name, index) => names.indexOf(name) !== index);
  if (twice !== undefined) throw new Error(`the shop has a setting ${twice}, which is one of the platform's`);
  const groups = Object.entries(GROUPS).map(([title, settings]) => {
    const entries = Object.entries<Setting<unknown>>(settings).map(([name, one]) => toEntry(name, one));
    return `## ${title}\n\n${entries.join('')}`;
  });
  return `${[HEAD, ...groups].join('\n')}`;
}

function toEntry(name: string, { about, fallback, fallbackInWords, isSecret }: Setting<unknown>): string {
  const unset = fallbackInWords ?? `\`${fallback}\``;
  return wrap(`- **\`${name}\`** (${isSecret ? 'secret; ' : ''}default: ${unset}). ${about}`);
}

/** Wraps a list item, with its lines indented like its first word. */
function wrap(item: string): string {
  const lines: string[] = [];
  for (const word of item.split(' ')) {
    const line = lines.at(-1);
    if (line !== undefined && line.length + 1 + word.length <= MAX_LINE) lines[lines.length - 1] = `${line} ${word}`;
    else lines.push(line === undefined ? word : `  ${word}`);
  }
  return `${lines.join('\n')}\n`;
}
