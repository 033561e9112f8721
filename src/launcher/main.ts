/** `npm start`: brings the service up, says how to use it, and stops it cleanly on Ctrl-C. */
import { readFile } from 'node:fs/promises';
import { type Config, ConfigError, readConfig } from '../config.ts';
import { demoKeyFile } from '../keys/key-files.ts';
import { ChildEnded } from './child.ts';
import { Interrupted, logDir, publicUrl, type Stack, startStack } from './stack.ts';

const interrupt = new AbortController();
let stack: Stack | undefined;
let isStopping = false;

async function main(): Promise<void> {
  const config = readConfig();
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.on(signal, stop);
  say('Starting the server and Envoy …');
  stack = await startStack(config, {}, undefined, interrupt.signal);
  say(await greeting(config));
  await stack.ended;
  say('Stopped.');
}

/** The first signal stops cleanly, amid the start too; a second one does not wait. */
function stop(): void {
  if (isStopping) {
    for (const child of [stack?.envoy, stack?.server]) child?.process.kill('SIGKILL');
    process.exit(1);
  }
  isStopping = true;
  if (stack === undefined) {
    interrupt.abort();
  } else {
    say('\nStopping: open requests have 10 seconds to finish. Ctrl-C again ends them now.');
    void stack.stop();
  }
}

async function greeting(config: Config): Promise<string> {
  const url = publicUrl(config);
  const key = (await readFile(demoKeyFile(config.dataDir), 'utf8')).trim();
  return `
The pet store is open: ${url}

  curl -H 'Authorization: Bearer ${key}' ${url}/pets

Logs are in ${logDir(config)}. Ctrl-C stops it.`;
}

function say(text: string): void {
  process.stdout.write(`${text}\n`);
}

try {
  await main();
} catch (error) {
  if (error instanceof Interrupted) say('Stopped.');
  else fail(error);
}

function fail(error: unknown): void {
  const isSystem = error instanceof Error && 'syscall' in error; // EACCES and the like say enough
  const isExpected = error instanceof ConfigError || error instanceof ChildEnded || isSystem;
  process.stderr.write(`petstore: ${isExpected ? error.message : String((error as Error).stack)}\n`);
  process.exitCode = 1;
}
