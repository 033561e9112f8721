import { readFileSync, renameSync } from 'node:fs';
import test from 'ava';
import { generateKey } from '../../../src/platform/access/keys/format.ts';
import { LogFile } from '../../../src/platform/observe/logging/log-file.ts';
import { createLogger } from '../../../src/platform/observe/logging/logger.ts';
import { temporaryFolder } from '../../support/scope.ts';

/** What the logger writes while `log` runs. */
function written(log: (logger: ReturnType<typeof createLogger>) => void, operatorKey?: string): string {
  let text = '';
  log(createLogger({ logLevel: 'trace', operatorKey }, { write: (line: string) => (text += line) }));
  return text;
}

test('Logger - a key is redacted in every field, whatever surrounds it', (t) => {
  for (const key of [generateKey(), generateKey('operator')]) {
    const text = written((logger) => {
      logger.info({ requestId: key, [key]: 1, deep: [{ deeper: `x${key}y_` }] }, `Bearer ${key}${key}`);
      logger.error({ err: new Error(`no such key: "${key}"`, { cause: new Error(key) }) }, 'call');
      logger.child({ name: key }).trace('%s', key);
    });
    t.is(text.split('\n').length, 4);
    for (const line of text.trimEnd().split('\n')) t.notThrows(() => JSON.parse(line));
    t.false(text.includes(key.slice(4)));
    t.true(text.includes('Bearer (a key)(a key)'));
  }
});

test('Logger - a chosen operator key is redacted too', (t) => {
  const operatorKey = 'a"key\\of-the-operator';
  const text = written((logger) => logger.info({ requestId: operatorKey }, 'call'), operatorKey);
  t.is(JSON.parse(text).requestId, '(a key)');
});

test('Log file - keeps the open file when the path can not be opened', (t) => {
  const folder = temporaryFolder(t);
  const path = `${folder}/a.log`;
  const file = new LogFile(path);
  renameSync(folder, `${folder}.away`);
  t.notThrows(() => file.reopen());
  file.write('one\n');
  renameSync(`${folder}.away`, folder);
  t.is(readFileSync(path, 'utf8'), 'one\n');
});
