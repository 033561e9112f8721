import { readFileSync, renameSync, symlinkSync, unlinkSync } from 'node:fs';
import { join } from 'node:path';
import test from 'ava';
import { LogFile } from '../../../src/platform/observe/logging/log-file.ts';
import { createLogger } from '../../../src/platform/observe/logging/logger.ts';
import { temporaryFolder } from '../../support/machine/folder.ts';

/** A full device: each write to it fails with ENOSPC. */
const FULL = '/dev/full';

(process.platform === 'linux' ? test : test.skip)(
  'Log file - on a full disk keeps the first line and drops others, until there is room again',
  (t) => {
    const path = join(temporaryFolder(t), 'a.log');
    symlinkSync(FULL, path);
    const file = new LogFile(path);
    const logger = createLogger({ logLevel: 'info', operatorKey: undefined }, file);
    for (let i = 1; i <= 5; i += 1) logger.info(`line ${i}`);
    unlinkSync(path); // and now there is room
    file.reopen();
    logger.info('line 6');
    logger.info('line 7');
    const lines = readFileSync(path, 'utf8')
      .trimEnd()
      .split('\n')
      .map((line) => JSON.parse(line));
    t.deepEqual(
      lines.map(({ msg }) => msg),
      ['line 1', 'line 6', 'line 7'],
    );
  },
);

test('Log file - keeps the open file when the path can not be opened', (t) => {
  const folder = temporaryFolder(t);
  const path = join(folder, 'a.log');
  const file = new LogFile(path);
  renameSync(folder, `${folder}.away`);
  t.notThrows(() => file.reopen());
  file.write('one\n');
  renameSync(`${folder}.away`, folder);
  t.is(readFileSync(path, 'utf8'), 'one\n');
});
