/** `npm start`: runs the service in the foreground. */
import { existsSync } from 'node:fs';
import { NAME, TITLE } from '../../identity.ts';
import { demoKeyFile } from '../access/keys/key-files.ts';
import { type Config, ConfigError } from '../config/config.ts';
import { run } from '../process/run.ts';
import { logDir } from './paths.ts';
import { printLine, publicUrl, runInForeground } from './program.ts';

await run(async (config) => {
  checkNoStandaloneSettings(config);
  await runInForeground({ config, report: printLine, startMessage });
});

function checkNoStandaloneSettings({ servers, grpcHost, internalTls, logs }: Config): void {
  const [misplaced] = [
    ...(servers === undefined ? [] : ['SERVERS is for npm run edge']),
    ...(grpcHost === '127.0.0.1' ? [] : ['GRPC_HOST is for npm run server']),
    ...(internalTls === undefined ? [] : ['INTERNAL_TLS_CA is for npm run edge and npm run server']),
    ...(logs === 'files' ? [] : ['LOGS is for npm run edge']),
  ];
  if (misplaced === undefined) return;
  throw new ConfigError(`${misplaced}: unset it, as npm start starts Envoy and its servers together, on this machine`);
}

function startMessage(config: Config): string {
  const url = publicUrl(config);
  const key = demoKeyFile(config.dataDir);
  const lines = [
    `The ${TITLE} is open: ${url}`,
    `Its documentation: ${url}/docs`,
    config.demoAccount && existsSync(key)
      ? `The key of its demo account is in ${key}`
      : `Accounts and keys are made with the ${NAME} command: npm run -s ${NAME} -- --help`,
  ];
  if (config.instances > 1) {
    lines.push(`${config.instances} servers run. To restart one after the other: kill -USR2 ${process.pid}`);
  }
  return ['', ...lines, `Logs are in ${logDir(config)}. Ctrl-C stops it.`].join('\n');
}
