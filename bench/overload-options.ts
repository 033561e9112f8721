/** The command line of the overload benchmark. */
import { parseValues, toInteger, toNumber } from './options.ts';

export interface OverloadOptions {
  /** How long each load is offered. */
  readonly seconds: number;
  /** How many requests may be under way at a time, each on a connection of its own. */
  readonly connections: number;
  /** Machine-readable results in the place of the table. */
  readonly json: boolean;
}

export const OVERLOAD_HELP = `Usage: npm run bench:overload -- [options]

Starts the whole service (Envoy, server, SQLite in a temporary folder), measures how much it can take, then offers a
quarter, a half, three quarters, 1, 2, 5 and 10 times that: requests are due at fixed times, whatever becomes of those
before. Prints what was answered, what was shed, and how fast each was. At last 2,000 clients come at once, each with
one request at a time, who wait for as long as a 503 tells them. The service has one core and the load generator
another, where taskset is there. Progress goes to stderr, the table to stdout. It takes some three minutes. Ctrl-C stops
it cleanly.

Options:
  --seconds N      how long each load is offered, 1 to 600 (default 5)
  --connections N  requests that may be under way at a time, 100 to 4000 (default 1000). One that is due when so many
                   are is not sent, and the table says so
  --json           results for machines instead of the table
  --help           this text

TMPDIR says where the temporary folder is made: it should be on a real disk. ENVOY names another Envoy binary.
`;

/** The options, or undefined when help is wanted. */
export function readOverloadOptions(args: readonly string[]): OverloadOptions | undefined {
  const values = parseValues(args, {
    help: { type: 'boolean', default: false },
    seconds: { type: 'string', default: '5' },
    connections: { type: 'string', default: '1000' },
    json: { type: 'boolean', default: false },
  });
  if (values.help) return undefined;
  return {
    seconds: toNumber('--seconds', values.seconds, 1, 600),
    connections: toInteger('--connections', values.connections, 100, 4_000),
    json: values.json,
  };
}
