/** What readConfig says of bad settings. */
import { ConfigError, readConfig } from '../../src/config/config.ts';

/** The message of the ConfigError that the settings cause; empty if there is none. */
export function configError(env: Readonly<Record<string, string>>): string {
  try {
    readConfig(env);
    return '';
  } catch (error) {
    if (error instanceof ConfigError) return error.message;
    throw error;
  }
}
