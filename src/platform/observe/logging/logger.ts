/** The log of the process: JSON lines, with all keys redacted. */
import pino, { type DestinationStream, type Logger } from 'pino';
import { hideKeys, REDACTED } from '../../access/keys/format.ts';
import type { Config } from '../../config/config.ts';
import { LogFile } from './log-file.ts';

/** Redacts keys in whole lines: any field may have one. A chosen operator key has no form: it is matched literally. */
export function createLogger(
  { logLevel, operatorKey }: Pick<Config, 'logLevel' | 'operatorKey'>,
  destination: DestinationStream = new LogFile(),
  traceId?: () => string | undefined,
): Logger {
  const chosen = operatorKey === undefined ? undefined : JSON.stringify(operatorKey).slice(1, -1);
  const hideOperatorKey = (line: string) => (chosen === undefined ? line : line.replaceAll(chosen, REDACTED));
  const write = (line: string) => destination.write(hideOperatorKey(hideKeys(line)));
  const options = { level: logLevel, base: null, timestamp: pino.stdTimeFunctions.isoTime };
  return pino({ ...options, ...(traceId && { mixin: () => ({ traceId: traceId() }) }) }, { write });
}
