/** `events tail`: follows the feed of events with an API key, as the operator's key reads no resources. */
import { once } from 'node:events';
import { readFile } from 'node:fs/promises';
import type { Command } from 'commander';
import { FEED } from '../../../gen/client/services.ts';
import { isWellFormed } from '../access/keys/format.ts';
import { CallError } from '../client/call-error.ts';
import { connect } from '../client/connection.ts';
import { follow } from '../client/events.ts';
import { loadOperations } from '../proto/operations.ts';
import { jsonWriter } from '../protocols/rest/json.ts';
import { explain, findServer } from './admin.ts';
import { toId } from './arguments.ts';
import { failure } from './failure.ts';
import { printable, printableJson } from './output.ts';

interface Options {
  readonly after?: bigint;
  readonly types?: readonly string[];
  readonly keyFile?: string;
  readonly json?: true;
}

export function eventsCommand(events: Command): void {
  events.description('Shows what changes in the store.');

  events
    .command('tail')
    .description('Prints a line for each event when it happens, until Ctrl-C. A lost connection is opened again.')
    .option('--after <id>', 'begin after the event with this id, 0: at the oldest (default: now)', toId)
    .option('--types <type...>', 'only these types of events, such as order.created')
    .option('--key-file <file>', 'the file with an API key (default: the environment variable API_KEY)')
    .action(async (_options: Options, command: Command) => tail(command, command.optsWithGlobals<Options>()));
}

async function tail(command: Command, { keyFile, json, after, types = [] }: Options): Promise<void> {
  const server = await findServer(command);
  const connection = connect({ ...server, apiKey: await findApiKey(keyFile) });
  const toJson = eventWriter();
  const interruption = new AbortController();
  const { signal } = interruption;
  // A second Ctrl-C ends the process.
  for (const name of ['SIGINT', 'SIGTERM'] as const) process.once(name, () => interruption.abort());
  try {
    // A stream is opened again and again. What is wrong from the start is found before.
    await connection
      .service({ list: FEED.listEvents })
      .list({ after: after ?? 0n, types: [...types], limit: 1 }, { signal });
    for await (const event of follow(connection, FEED.watchEvents, { after, types, signal })) {
      if (!process.stdout.write(`${json ? toJson(event) : toText(toJson(event))}\n`))
        await once(process.stdout, 'drain', { signal });
    }
  } catch (error) {
    if (!signal.aborted) throw error instanceof CallError ? explain(error, command, server) : error;
  } finally {
    await connection.close();
  }
}

/** Not an argument: other users of the machine can see these. */
async function findApiKey(file: string | undefined): Promise<string> {
  const unreadable = ({ message }: Error) => {
    throw failure('API_KEY_MISSING', `the API key can't be read: ${message}`);
  };
  const found = file === undefined ? process.env.API_KEY : await readFile(file, 'utf8').catch(unreadable);
  const key = found?.trim() ?? '';
  const advice = 'set API_KEY, or name a file that has one with --key-file';
  if (key === '') throw failure('API_KEY_MISSING', `an API key is needed: ${advice}`);
  if (!isWellFormed(key)) throw failure('API_KEY_INVALID', `${file ?? 'API_KEY'} has no API key, or it is damaged`);
  return key;
}

/** The same as in the stream over REST. */
function eventWriter(): (event: unknown) => string {
  const feed = loadOperations().byPath.get(FEED.watchEvents.path)?.output;
  const event = feed?.fields.find(({ name }) => name === 'event')?.message;
  if (event === undefined) throw new Error(`${FEED.watchEvents.path} has no event`);
  const write = jsonWriter(event);
  return (message) => printableJson(write(message));
}

/** `51  2026-07-01T09:30:00.123Z  order.updated  {"order":{…}}`. */
function toText(event: string): string {
  const { id, time, type, ...resource } = JSON.parse(event);
  return printable([id, time, type, JSON.stringify(resource)].join('  '));
}
