/** The settings of a program that people start. */
import { describeMisspelled } from '../config/misspelled.ts';
import { type Config, readConfig } from '../config.ts';

/** Reads the settings, and warns on stderr of variables that look like misspelled ones. Throws ConfigError. */
export function loadConfig(): Config {
  for (const line of describeMisspelled(process.env)) process.stderr.write(`petstore: ${line}\n`);
  return readConfig();
}
