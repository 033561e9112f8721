/** The command line. A mistake in it is one clear line. */
import { parseArgs } from 'node:util';
import { ROWS, type Row } from './rows.ts';

export interface Options {
  /** How long each line of the table is measured, warm-up aside. */
  readonly seconds: number;
  readonly connections: number;
  readonly rows: readonly Row[];
  /** Machine-readable results in the place of the table. */
  readonly json: boolean;
}

export class UsageError extends Error {
  override name = 'UsageError';
}

export const HELP = `Usage: npm run bench -- [options]

Starts the whole service (Envoy, server, a database in a temporary folder), loads it over HTTP, and prints requests per
second, latency, and CPU time per request of each process. Progress goes to stderr, the table to stdout. All of it takes
about two minutes. Ctrl-C stops it cleanly.

Options:
  --seconds N      how long each line of the table is measured, 0.5 to 600 (default 5)
  --connections N  connections that each have one request under way, 1 to 1000 (default 64)
  --only NAME      this row; can be given more than once
  --json           results for machines instead of the table
  --help           this text

Rows:
${ROWS.map(({ name, title }) => `  ${name.padEnd(16)} ${title}`).join('\n')}

TMPDIR says where the temporary folder is made: it should be on a real disk. ENVOY names another Envoy binary.
`;

/** The options, or undefined when help is wanted. */
export function readOptions(args: readonly string[]): Options | undefined {
  const values = parse(args);
  if (values.help) return undefined;
  return {
    seconds: toNumber('--seconds', values.seconds, 0.5, 600),
    connections: toInteger('--connections', values.connections, 1, 1000),
    rows: values.only === undefined ? ROWS : [...new Set(values.only.map(toRow))],
    json: values.json,
  };
}

function parse(args: readonly string[]) {
  try {
    return parseArgs({
      args: [...args],
      options: {
        help: { type: 'boolean', default: false },
        seconds: { type: 'string', default: '5' },
        connections: { type: 'string', default: '64' },
        only: { type: 'string', multiple: true },
        json: { type: 'boolean', default: false },
      },
    }).values;
  } catch (error) {
    const [first = ''] = (error as Error).message.split(/\. |\n/, 1);
    throw new UsageError(`${first.charAt(0).toLowerCase()}${first.slice(1)} (see --help)`);
  }
}

function toNumber(option: string, text: string, min: number, max: number): number {
  const value = Number(text);
  const isRight = text.trim() !== '' && value >= min && value <= max;
  if (!isRight) throw new UsageError(`${option} must be a number from ${min} to ${max}, not "${text}"`);
  return value;
}

function toInteger(option: string, text: string, min: number, max: number): number {
  const value = toNumber(option, text, min, max);
  if (!Number.isInteger(value)) throw new UsageError(`${option} must be a whole number, not "${text}"`);
  return value;
}

function toRow(name: string): Row {
  const row = ROWS.find((candidate) => candidate.name === name);
  if (row === undefined)
    throw new UsageError(`there is no row "${name}": ${ROWS.map((known) => known.name).join(', ')}`);
  return row;
}
