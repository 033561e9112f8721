/** The command line. A mistake in it is one clear line. */
import { type ParseArgsConfig, parseArgs } from 'node:util';
import { ROWS, type Row } from './rows.ts';

const ENGINES = ['sqlite', 'postgres'] as const;
/** Each server of each way has connections of its own to the one PostgreSQL. */
const MAX_INSTANCES = 16;

export interface Options {
  /** How long each line of the table is measured, warm-up aside. */
  readonly seconds: number;
  readonly connections: number;
  readonly engine: (typeof ENGINES)[number];
  /** How many servers are behind Envoy. */
  readonly instances: number;
  readonly rows: readonly Row[];
  /** Machine-readable results in the place of the table. */
  readonly json: boolean;
}

export class UsageError extends Error {
  override name = 'UsageError';
}

export const HELP = `Usage: npm run bench -- [options]

Starts the whole service (Envoy, server, a database in a temporary folder) and the floor (an Envoy that only transcodes,
before a grpc-js that answers from a map), loads them over HTTP in turn, and prints requests per
second, latency, and CPU time per request of each program. Progress goes to stderr, the table to stdout. All of it takes
about two minutes, some more on PostgreSQL. Ctrl-C stops it cleanly.

Options:
  --seconds N      how long each line of the table is measured, 0.5 to 600 (default 5)
  --connections N  connections that each have one request under way, 1 to 1000 (default 64)
  --engine NAME    where the data is: sqlite, or postgres, which is PostgreSQL with the limits in Redis (default sqlite)
  --instances N    servers behind the one Envoy, 1 to ${MAX_INSTANCES} (default 1); more than 1 need --engine postgres
  --only NAME      this row; can be given more than once
  --json           results for machines instead of the table
  --help           this text

Rows:
${ROWS.map(({ name, title }) => `  ${name.padEnd(16)} ${title}`).join('\n')}

The targets are for one server on SQLite: on PostgreSQL the table shows none. There "server µs" is of all servers together,
and "PostgreSQL µs" of all its processes. PostgreSQL and redis-server are the machine's own, started for the benchmark on free
ports, PostgreSQL as durable as in production, Redis in memory; or those that TEST_DATABASE_URL (of a user who may make
databases) and TEST_REDIS_URL name, which should be there for nothing else and whose CPU time is not counted.

TMPDIR says where the temporary folder is made: it should be on a real disk. ENVOY names another Envoy binary.
`;

/** The options, or undefined when help is wanted. */
export function readOptions(args: readonly string[]): Options | undefined {
  const values = parseValues(args, {
    help: { type: 'boolean', default: false },
    seconds: { type: 'string', default: '5' },
    connections: { type: 'string', default: '64' },
    engine: { type: 'string', default: 'sqlite' },
    instances: { type: 'string', default: '1' },
    only: { type: 'string', multiple: true },
    json: { type: 'boolean', default: false },
  });
  if (values.help) return undefined;
  const engine = toEngine(values.engine);
  const instances = toInteger('--instances', values.instances, 1, MAX_INSTANCES);
  if (instances > 1 && engine === 'sqlite') {
    throw new UsageError(`--instances ${instances} needs --engine postgres: SQLite is for one server`);
  }
  return {
    seconds: toNumber('--seconds', values.seconds, 0.5, 600),
    connections: toInteger('--connections', values.connections, 1, 1000),
    engine,
    instances,
    rows: values.only === undefined ? ROWS : [...new Set(values.only.map(toRow))],
    json: values.json,
  };
}

/** @throws UsageError, in a line, for what is no such option. */
export function parseValues<T extends NonNullable<ParseArgsConfig['options']>>(args: readonly string[], options: T) {
  try {
    return parseArgs({ args: [...args], options }).values;
  } catch (error) {
    const [first = ''] = (error as Error).message.split(/\. |\n/, 1);
    throw new UsageError(`${first.charAt(0).toLowerCase()}${first.slice(1)} (see --help)`);
  }
}

export function toNumber(option: string, text: string, min: number, max: number): number {
  const value = Number(text);
  const isRight = text.trim() !== '' && value >= min && value <= max;
  if (!isRight) throw new UsageError(`${option} must be a number from ${min} to ${max}, not "${text}"`);
  return value;
}

export function toInteger(option: string, text: string, min: number, max: number): number {
  const value = toNumber(option, text, min, max);
  if (!Number.isInteger(value)) throw new UsageError(`${option} must be a whole number, not "${text}"`);
  return value;
}

function toEngine(name: string): Options['engine'] {
  const engine = ENGINES.find((candidate) => candidate === name);
  if (engine === undefined) throw new UsageError(`--engine must be ${ENGINES.join(' or ')}, not "${name}"`);
  return engine;
}

function toRow(name: string): Row {
  const row = ROWS.find((candidate) => candidate.name === name);
  if (row === undefined)
    throw new UsageError(`there is no row "${name}": ${ROWS.map((known) => known.name).join(', ')}`);
  return row;
}
