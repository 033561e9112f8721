/**
 * `npm run server`: a server without Envoy, for an edge on this machine or another. Checks the settings and the port,
 * prints a message, and replaces itself with src/main.ts, in the same process.
 */
import { formatAddress } from '../config/addresses.ts';
import { type Config, ConfigError } from '../config/config.ts';
import { type Command, checkSingleInstance, run } from './command.ts';
import { SERVER } from './paths.ts';
import { checkFree } from './ports.ts';

const COMMAND: Command = {
  name: 'npm run server',
  about: `Runs one gRPC server, without Envoy. Its log goes to stdout, as JSON lines.
On SIGTERM it fails the health checks of all edges until they send calls
elsewhere, waits for open calls (10 seconds at most), and exits. Ctrl-C does not
wait for the edges. Nothing restarts it: leave that to systemd or Kubernetes.`,
};

await run(async (config) => {
  checkSingleInstance(config, COMMAND);
  await checkFree('GRPC_PORT', config.grpcHost, config.grpcPort);
  process.stderr.write(`${startMessage(config)}\n`);
  if (process.execve === undefined) throw new ConfigError('npm run server needs Linux or macOS');
  process.execve(process.execPath, [process.execPath, SERVER]);
}, COMMAND);

function startMessage({ grpcHost, grpcPort, internalTls }: Config): string {
  const how = internalTls === undefined ? 'in plain text' : 'by mutual TLS';
  const address = formatAddress(grpcHost, grpcPort);
  return `Starting a server without Envoy: edges reach it at ${address} ${how}. Its log follows. Ctrl-C stops it.`;
}
