/** `npm run edge`: runs Envoy without servers in the foreground, until a signal stops it. */
import { type Config, ConfigError } from '../config/config.ts';
import { createLogger } from '../observe/logging/logger.ts';
import { run } from '../process/run.ts';
import { logDir } from './paths.ts';
import { printLine, publicUrl, runInForeground } from './program.ts';

await run(async (config) => {
  if (config.edgeSecret === undefined && config.internalTls === undefined) {
    const why = 'its servers would take all callers for one address';
    throw new ConfigError(`npm run edge needs EDGE_SECRET, the same as its servers', or INTERNAL_TLS_CA: ${why}`);
  }
  const logger = createLogger(config); // for lines as JSON, if all logs go to stdout
  const report = config.logs === 'files' ? printLine : (line: string) => logger.info(line.trim());
  await runInForeground({ config, isEdge: true, report, startMessage });
});

function startMessage(config: Config): string {
  const logs = config.logs === 'files' ? ` Logs are in ${logDir(config)}.` : '';
  return `The edge is open at ${publicUrl(config)}.${logs} Ctrl-C stops it.`;
}
