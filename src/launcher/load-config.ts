/** The settings of a program that people start. */
import { describeMisspelled } from '../config/misspelled.ts';
import { type Config, ConfigError, readConfig } from '../config.ts';

/** Reads the settings, and warns on stderr of variables that look like misspelled ones. Throws ConfigError. */
export function loadConfig(): Config {
  for (const line of describeMisspelled(process.env)) process.stderr.write(`petstore: ${line}\n`);
  return readConfig();
}

/** Throws ConfigError when the settings ask a standalone server or edge for several servers. */
export function checkSingleInstance({ instances }: Config, command: string): void {
  if (instances === 1) return;
  const advice = "unset it and list the edge's servers in SERVERS, or use npm start";
  throw new ConfigError(`INSTANCES=${instances} is not for ${command}: ${advice}`);
}
