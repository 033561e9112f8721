/** `petstore events tail`: follows the feed of events with an API key, as the operator's key reads no resources. */
import { once } from 'node:events';
import { readFile } from 'node:fs/promises';
import type { Command } from 'commander';
import { EventServiceService as Events } from '../../gen/petstore/v1/events.ts';
import { connect } from '../client/connection.ts';
import { follow, type Watch } from '../client/events.ts';
import { PetstoreError } from '../client/petstore-error.ts';
import { jsonWriter } from '../edge/json.ts';
import { loadOperations } from '../proto/operations.ts';
import { explain, findServer } from './admin.ts';
import { toId } from './arguments.ts';
import { Failure } from './failure.ts';
import { printable } from './output.ts';

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
    .option('--after <id>', 'begin after the event with this id, 0: at the oldest (default: now)', toId('--after'))
    .option('--types <type...>', 'only these types of events: pet.created, …')
    .option('--key-file <file>', 'the file with an API key (default: the environment variable API_KEY)')
    .action(async (_options: Options, command: Command) => tail(command, command.optsWithGlobals<Options>()));
}

async function tail(command: Command, { keyFile, json, after, types = [] }: Options): Promise<void> {
  const server = await findServer(command);
  const connection = connect({ ...server, apiKey: await findApiKey(keyFile), maxAttempts: 1 });
  const toLine = json ? toJson() : toText();
  const { signal, abort } = abortOnSignal();
  try {
    // A stream is opened again and again. What is wrong from the start is found before.
    await connection.service(Events).listEvents({ after: after ?? 0n, types: [...types], limit: 1 }, { signal });
    const watch: Watch = (request, end) => connection.stream(Events.watchEvents, request, end);
    for await (const event of follow(watch, signal, { ...(after === undefined ? {} : { after }), types })) {
      if (!process.stdout.write(`${toLine(event)}\n`)) await once(process.stdout, 'drain', { signal });
    }
  } catch (error) {
    if (!signal.aborted) throw error instanceof PetstoreError ? explain(error, command, server) : error;
  } finally {
    abort();
    await connection.close();
  }
}

/** Aborts at the first Ctrl-C. A second one ends the process. */
function abortOnSignal(): { readonly signal: AbortSignal; abort(): void } {
  const controller = new AbortController();
  const abort = () => controller.abort();
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, abort);
  return { signal: controller.signal, abort };
}

/** Not an argument: other users of the machine can see these. */
async function findApiKey(file: string | undefined): Promise<string> {
  const key = file === undefined ? process.env.API_KEY : await readFile(file, 'utf8').catch(unreadable);
  if (key?.trim()) return key.trim();
  throw new Failure(
    'API_KEY_MISSING',
    'an API key is needed: set API_KEY, or name a file that has one with --key-file',
  );
}

function unreadable({ message }: Error): never {
  throw new Failure('API_KEY_MISSING', `the API key can't be read: ${message}`);
}

/** The same JSON as over REST. */
function toJson(): (event: unknown) => string {
  const type = loadOperations().registry.getMessage('petstore.v1.Event');
  if (type === undefined) throw new Error('the proto files have no Event');
  return jsonWriter(type);
}

/** `51  2026-07-01T09:30:00.123Z  pet.updated  {"pet":{…},"inventory":{…}}`. */
function toText(): (event: unknown) => string {
  const write = toJson();
  return (event) => {
    const { id, time, type, ...resource } = JSON.parse(write(event));
    return printable([id, time, type, JSON.stringify(resource)].join('  '));
  };
}
