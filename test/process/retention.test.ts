import test from 'ava';
import pino from 'pino';
import { startRetention } from '../../src/platform/process/retention.ts';
import { until } from '../support/until.ts';

test('Retention - deletes in bounded statements, with a pause between them for other writes', async (t) => {
  const portions: { readonly rows: number; readonly ms: number }[] = [];
  let left = 1_000;
  const deletePortion = async (maxRows: number, nowMs: number) => {
    t.is(nowMs, 7);
    const rows = Math.min(maxRows, left);
    left -= rows;
    portions.push({ rows, ms: performance.now() });
    return rows;
  };
  const stop = startRetention(() => 7, pino({ level: 'silent' }), { 'idempotency records': deletePortion });
  await until(() => portions.length === 5, 'the last portion');
  await stop();
  const all = portions.map(({ rows }) => rows);
  t.deepEqual(all, [250, 250, 250, 250, 0]);
  for (const [index, { ms }] of portions.entries()) t.true(ms - (portions[index - 1]?.ms ?? 0) > 45);
});

test('Retention - a failed deletion is logged, and prevents neither other deletions nor a shutdown', async (t) => {
  const lines: string[] = [];
  const logger = pino({ base: null }, { write: (line: string) => lines.push(JSON.parse(line).msg) });
  const deletePortion = () => Promise.reject(new Error('away'));
  const others = async () => Number(lines.push('others are deleted'));
  const stop = startRetention(Date.now, logger, { usage: deletePortion, others });
  await until(() => lines.length > 1, 'the log line');
  await stop();
  t.deepEqual(lines, ['old usage: not deleted yet, trying again in an hour', 'others are deleted']);
});
