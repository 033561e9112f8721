/**
 * What this service is called. Code takes its names from here; what can't, such as package.json and the proto files, is
 * compared with it by `npm run check`.
 */

/** In the names of files, metrics, headers, Envoy's clusters and the command. */
export const NAME = 'petstore';

/** In the names of the client's classes, and of alerts. */
export const CLASS_NAME = NAME.charAt(0).toUpperCase() + NAME.slice(1);

/** In sentences: "The pet store is open". */
export const TITLE = 'pet store';

/** What it keeps, for those who find it among others. */
export const SUMMARY = 'Pets, their categories, orders for them, and what is in stock.';

/** The proto package that callers may call; all else follows from it. The platform's own begin with `apiplatform.`. */
export const API_PACKAGE = 'petstore.v1';

/** Names, of resources or the service, that have other senses: the check of the platform's words leaves them out. */
export const COMMON_WORDS: readonly string[] = ['orders'];

/** How API keys begin: an account's, and an operator's. Lower-case letters, and an underscore at the end. */
export const KEY_PREFIXES = { account: 'pst_', operator: 'pso_' } as const;

/** SQLite's file in DATA_DIR. */
export const DATABASE_FILE = `${NAME}.sqlite`;

/** Envoy's clusters, by the requests that they are for: each server is in all. Envoy's statistics have their names. */
export const CLUSTERS = {
  calls: NAME,
  feeds: `${NAME}_feeds`,
  anonymous: `${NAME}_anonymous`,
  open: `${NAME}_open`,
  health: `${NAME}_health`,
} as const;
