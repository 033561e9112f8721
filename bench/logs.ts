/** What a process wrote before it ended: its log goes away with the benchmark's folder. */
import { readFile } from 'node:fs/promises';
import { ChildExited } from '../src/launcher/child.ts';

const LAST_LINES = 5;

/** The end of a process of ours, with the last lines that it wrote. */
export class Broken extends Error {
  override name = 'Broken';
}

/** The error to show: a process's end with the last lines of these logs, anything else as it is. */
export async function withLogs(error: unknown, logs: readonly string[]): Promise<unknown> {
  if (!(error instanceof ChildExited)) return error;
  const tails = await Promise.all(logs.map(tail));
  return new Broken([error.message, ...tails.filter((text) => text !== '')].join('\n'), { cause: error });
}

async function tail(file: string): Promise<string> {
  const text = await readFile(file, 'utf8').catch(() => '');
  return text.trimEnd().split('\n').slice(-LAST_LINES).join('\n');
}
