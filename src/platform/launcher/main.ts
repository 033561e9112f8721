/** `npm start`: runs the service in the foreground. Its message when it is open has a curl line that can be pasted. */
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { NAME, TITLE } from '../../identity.ts';
import { demoKeyFile } from '../access/keys/key-files.ts';
import { type Config, ConfigError } from '../config/config.ts';
import { run } from '../process/run.ts';
import { logDir, ROOT } from './paths.ts';
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
  const insecure = config.tls === undefined ? '' : '--insecure '; // the certificate may be for another name
  const options = `${insecure}${config.proxyProtocol ? '--haproxy-protocol ' : ''}`;
  const file = demoKeyFile(config.dataDir);
  const hasDemoKey = config.demoAccount && existsSync(file);
  const key = hasDemoKey ? `$(cat ${shellQuote(file)})` : '<API_KEY>';
  const lines = [`The ${TITLE} is open: ${url}`, `Its documentation: ${url}/docs`, ''];
  lines.push(`  curl ${options}-H "Authorization: Bearer ${key}" ${shellQuote(url + firstList())}`, '');
  if (!hasDemoKey) {
    lines.push(`Accounts and keys are made with the ${NAME} command: npm run -s ${NAME} -- --help`, '');
  }
  if (config.instances > 1) {
    lines.push(`${config.instances} servers run. To restart one after the other: kill -USR2 ${process.pid}`);
  }
  return ['', ...lines, `Logs are in ${logDir(config)}. Ctrl-C stops it.`].join('\n');
}

/** The path of the first list that the interface description has. */
function firstList(): string {
  const description = readFileSync(join(ROOT, 'gen/openapi/openapi.json'), 'utf8');
  const paths: Readonly<Record<string, object>> = JSON.parse(description).paths;
  const [list = ''] = Object.keys(paths).filter((path) => 'get' in (paths[path] ?? {}) && !path.includes('{'));
  return list;
}

function shellQuote(word: string): string {
  return /^[\w./:@%+,=-]+$/.test(word) ? word : `'${word.replaceAll("'", "'\\''")}'`;
}
