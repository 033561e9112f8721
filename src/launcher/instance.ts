/** One of the servers behind Envoy: a port, a log file, and the process that has both, until the next one has them. */
import { join } from 'node:path';
import { type Config, ConfigError } from '../config.ts';
import { Child } from './child.ts';
import { CLOSE_MS, DRAIN_MS, logDir } from './places.ts';

/** What every server is started with. */
export interface ServerProgram {
  readonly config: Config;
  /** For the process, beside the settings. */
  readonly env: Readonly<Record<string, string>>;
  /** Its TypeScript file. */
  readonly file: string;
}

/**
 * Room for what a burst of requests leaves behind, in MiB: with less, more of it is still in use when the collector comes
 * and is copied for nothing. It takes some 5 % off the CPU time of a request.
 */
const NODE_OPTIONS = ['--max-semi-space-size=32'];

export class Instance {
  /** For people: "the server", or "server 2". */
  readonly name: string;
  readonly port: number;
  readonly #program: ServerProgram;
  readonly #logName: string;
  #child: Child | undefined;
  #isStopping = false;
  #leaving: Child | undefined;
  #turn = Promise.resolve();

  /** `index` is from 0. */
  constructor(program: ServerProgram, index: number) {
    const isOnly = program.config.instances === 1;
    this.name = isOnly ? 'the server' : `server ${index + 1}`;
    this.port = program.config.grpcPort + index;
    this.#program = program;
    this.#logName = isOnly ? 'server.log' : `server-${index + 1}.log`;
  }

  /** The process there is, or the last that there was. */
  get child(): Child {
    if (this.#child === undefined) throw new Error(`${this.name} has not been started`);
    return this.#child;
  }

  get logFile(): string {
    return join(logDir(this.#program.config), this.#logName);
  }

  /** Starts a process and resolves when it serves. One that doesn't within `withinMs`, if that is given, is ended. */
  async start(withinMs?: number): Promise<void> {
    if (this.#isStopping) throw new Error(`${this.name} is to stop`);
    const { config, env, file } = this.#program;
    const child = new Child(this.name, process.execPath, [...NODE_OPTIONS, file], {
      env: {
        ...process.env,
        ...env,
        GRPC_PORT: String(this.port),
        INSTANCES: '1', // the settings have been checked; the ports after its own are not this one's
        DATA_DIR: config.dataDir,
        LOG_LEVEL: config.logLevel,
      },
      ipc: true,
      logFile: this.logFile,
    });
    this.#child = child;
    let isLate = false;
    const endLate = () => {
      isLate = true;
      void child.stop(CLOSE_MS);
    };
    const timer = withinMs === undefined ? undefined : setTimeout(endLate, withinMs);
    try {
      await serving(child);
    } catch (error) {
      throw isLate ? new Error(`it did not serve within ${Number(withinMs) / 1_000} s`) : error;
    } finally {
      clearTimeout(timer);
    }
  }

  /** Does something that ends a process or starts one, when whatever of the kind is under way has been done. */
  async alone(turn: () => Promise<void>): Promise<void> {
    const result = this.#turn.then(turn);
    this.#turn = result.catch(() => undefined); // who asked for it is told
    return result;
  }

  /** Asks the process to tell Envoy that it takes no new calls, while it still does. */
  leave(): void {
    this.#leaving = this.child;
    this.child.send('leave');
  }

  /** Whether it is the process that was asked to. */
  isLeaving(child: Child): boolean {
    return this.#leaving === child;
  }

  /** Ends the process when its open calls are done, and starts the next. */
  async replace(withinMs: number): Promise<void> {
    await this.child.stop(DRAIN_MS + CLOSE_MS);
    await this.start(withinMs);
  }

  /** Ends it for good. */
  async stop(graceMs: number): Promise<void> {
    this.#isStopping = true;
    await this.#child?.stop(graceMs);
  }
}

/** Resolves when the server says that it serves. One that can't start says why in its log. */
async function serving(server: Child): Promise<void> {
  try {
    await server.message();
  } catch (error) {
    const lines = (await server.log()).trimEnd().split('\n');
    const [, reason] = /^petstore: (.+)$/.exec(lines.at(-1) ?? '') ?? [];
    throw reason === undefined ? error : new ConfigError(reason);
  }
}
