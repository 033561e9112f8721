/** The process's log: JSON lines in which no key can be read. */
import pino, { type DestinationStream, type Logger } from 'pino';
import type { Config } from '../config.ts';
import { KEY_PATTERN } from '../keys/format.ts';
import { LogFile } from './log-file.ts';

const HIDDEN = '(a key)';

/** Replaces whatever looks like a key of ours, anywhere in a text. */
export function hideKeys(text: string): string {
  return text.replaceAll(KEY_PATTERN, HIDDEN);
}

/**
 * Keys are looked for in whole lines: one may stand in any field, in a caller's request id or in an error's message. An
 * operator key of the operator's own choice looks like anything, so it is looked for as it is.
 */
export function createLogger(
  { logLevel, operatorKey }: Pick<Config, 'logLevel' | 'operatorKey'>,
  destination: DestinationStream = new LogFile(),
  traceId?: () => string | undefined,
): Logger {
  const chosen = operatorKey === undefined ? undefined : JSON.stringify(operatorKey).slice(1, -1);
  const hide = (line: string) => (chosen === undefined ? line : line.replaceAll(chosen, HIDDEN));
  const write = (line: string) => destination.write(hide(hideKeys(line)));
  const mixin = traceId && (() => ({ traceId: traceId() }));
  const options = { level: logLevel, base: null, timestamp: pino.stdTimeFunctions.isoTime };
  return pino({ ...options, ...(mixin === undefined ? {} : { mixin }) }, { write });
}
