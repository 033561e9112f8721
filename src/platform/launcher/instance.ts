/** One of the servers behind Envoy. */
import { once } from 'node:events';
import { join } from 'node:path';
import { type Config, ConfigError, portsOf, TemporaryFailure } from '../config/config.ts';
import { LogFile } from '../observe/logging/log-file.ts';
import type { Failure, Progress } from '../process/run.ts';
import { Child } from './child.ts';
import { Component } from './component.ts';
import { auditLog, logDir } from './paths.ts';

export class Instance extends Component {
  readonly port: number;
  /** The writes of a frozen server end when it is killed. */
  override readonly maxMissedPings = 4;
  readonly #file: string;
  readonly #env: NodeJS.ProcessEnv;

  /** `index` is from 0. `file` is the server's TypeScript file, `env` its environment besides the settings. */
  constructor(config: Config, index: number, file: string, env: Readonly<Record<string, string>>) {
    const isOnly = config.instances === 1;
    const log = new LogFile(join(logDir(config), isOnly ? 'server.log' : `server-${index + 1}.log`));
    super(isOnly ? 'the server' : `server ${index + 1}`, log);
    this.port = config.grpcPort + index;
    const metricsPort = portsOf(config, config.metrics?.port)[index];
    this.#file = file;
    this.#env = {
      ...process.env,
      ...env,
      GRPC_PORT: String(this.port),
      ...(metricsPort === undefined ? {} : { METRICS_PORT: String(metricsPort) }),
      DATA_DIR: config.dataDir,
      EDGE_SECRET: config.edgeSecret,
      EDGE_SECRET_FILE: undefined,
      LOG_LEVEL: config.logLevel,
      LOG_FILE: log.path,
      AUDIT_FILE: auditLog(config),
    };
  }

  protected spawn(): Child {
    return new Child(this.name, process.execPath, [this.#file], { env: this.#env, ipc: true, log: this.log });
  }

  /** Resolves when the server reports that it serves. Rejects with its reason when it can't start. */
  protected async waitUntilServing(child: Child, onProgress: (what: string) => void): Promise<void> {
    const isProgress = (message: unknown) => {
      const { migrating } = message as Partial<Progress>;
      if (migrating !== undefined) onProgress(`migrates the database: ${migrating}`);
      return migrating !== undefined;
    };
    const { reason, isTemporary } = (await child.nextMessage(isProgress)) as Partial<Failure>;
    if (reason === undefined) return;
    await child.ended;
    throw isTemporary ? new TemporaryFailure(reason) : new ConfigError(reason);
  }

  ping(signal: AbortSignal): Promise<unknown> {
    const { child } = this;
    const pong = once(child.process, 'message', { signal });
    child.send('ping');
    return pong;
  }

  async reopenLogs(): Promise<void> {
    this.log.reopen();
    this.child.send('reopen');
  }

  /** Makes the server end all streams of events, for good: Envoy would wait for them. */
  endEventStreams(): void {
    this.child.send('end feeds');
  }

  /** Makes the server's health checks fail, while it still accepts calls. Returns its process. */
  startDraining(): Child {
    const { child } = this;
    child.isDraining = true;
    child.send('drain');
    return child;
  }
}
