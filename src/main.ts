/** The server process: starts the service, waits for the signal to stop, drains, closes and exits with 0. */
import { logVerbosity, setLogVerbosity } from '@grpc/grpc-js';
import type { Config } from './platform/config/config.ts';
import { makePrivate } from './platform/files/private-folder.ts';
import { watchForHangs } from './platform/observe/hangs/hangs.ts';
import { LogFile } from './platform/observe/logging/log-file.ts';
import { lockDataFolder } from './platform/process/data-lock.ts';
import { checkFree, ofServers } from './platform/process/ports.ts';
import { fail, onStopSignals, type Progress, run } from './platform/process/run.ts';
import { createService } from './service.ts';
import { readShopSettings } from './settings.ts';

/** How often a launcher learns that a migration goes on. */
const PROGRESS_MS = 5_000;

async function main(config: Config): Promise<void> {
  // grpc-js writes to stderr, with its value, each header that it can't parse; anybody can send one.
  setLogVerbosity(logVerbosity.NONE);
  const settings = readShopSettings();
  await makePrivate(config.dataDir);
  const isAlone = process.send === undefined; // a launcher locks the folder for its servers, and checks their ports
  if (isAlone) await checkFree(ofServers({ ...config, instances: 1 }));
  const lock = isAlone && config.databaseUrl === undefined ? lockDataFolder(config.dataDir) : undefined;
  const log = new LogFile(config.logFile);
  const auditLog = config.auditFile === undefined ? log : new LogFile(config.auditFile);
  let migrating: string | undefined;
  const onMigration = (name: string | undefined) => {
    migrating = name;
  };
  const tell = () => migrating && process.connected && process.send?.({ migrating } satisfies Progress);
  const telling = setInterval(tell, PROGRESS_MS);
  const service = await createService(config, { log, auditLog, note: watchForHangs(log), onMigration }, settings);
  clearInterval(telling);
  const { logger } = service;
  const stopped = nextSignal(); // before the first call
  const port = await service.listen();
  if (process.connected) process.send?.({ port }); // the launcher waits for it
  process.on('message', (message) => {
    if (message === 'ping' && process.connected) process.send?.('pong');
    if (message === 'reopen') for (const file of new Set([log, auditLog])) file.reopen();
    if (message === 'end feeds') service.endEventStreams();
    if (message !== 'drain') return;
    logger.info('no longer ready');
    void service.startDraining(); // the launcher waits as long
  });

  const signal = await stopped;
  logger.info({ signal }, 'draining');
  if (signal === 'SIGTERM' && !process.connected) await service.startDraining(); // a launcher has done so
  await service.close();
  lock?.release();
  logger.info('stopped');
  process.exit(); // a connection to a database that hangs would stay open
}

/** Resolves with the signal to stop. The end of the launcher counts as one. */
function nextSignal(): Promise<string> {
  return new Promise((resolve) => {
    onStopSignals(resolve, () => process.exit(1));
    process.once('disconnect', () => resolve('disconnect'));
    if (process.send !== undefined && !process.connected) resolve('disconnect'); // the launcher ended during the start
  });
}

process.on('uncaughtException', fail);
await run(main);
