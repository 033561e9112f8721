/**
 * Reads whose answer had begun when its server died or froze: no other server can end it, so they are 503. Node sends the
 * end of an answer a turn of the event loop after the rest. Envoy's access log tells these reads from others.
 */
import { readFile } from 'node:fs/promises';
import { until } from './until.ts';

interface AccessLogLine {
  readonly method: string;
  readonly status: number;
  readonly details: string;
}

/** Resolves when the access logs have `count` such reads, which Envoy writes within 10 s. Rejects when they have not. */
export async function untilHalfAnswered(count: number, accessLogs: readonly string[]): Promise<void> {
  const found = async () => {
    const texts = await Promise.all(accessLogs.map((file) => readFile(file, 'utf8')));
    return texts.flatMap((text) => text.split('\n').slice(0, -1)).filter(isHalfAnswered).length;
  };
  await until(async () => (await found()) === count, `${count} reads whose answer had begun`);
}

function isHalfAnswered(line: string): boolean {
  const { method, status, details } = JSON.parse(line) as AccessLogLine;
  return method === 'GET' && status === 503 && details.startsWith('upstream_reset_after_response_started');
}
