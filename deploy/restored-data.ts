/** SQL about a restored database, for both engines. */
import { NAME } from '../src/identity.ts';
import { MIGRATIONS } from '../src/schema.ts';

const NAMES = MIGRATIONS.map(({ name }) => `'${name}'`).join(', ');

/** The migrations of a newer release, on which this one can't work. */
export const UNKNOWN_MIGRATIONS = `SELECT name FROM schema_migrations WHERE NOT additive AND name NOT IN (${NAMES})`;

/**
 * What was revoked or suspended after the backup was made, and is valid again. `kept` is the schema with the data from
 * before the restore. Each row has one column, a line for the operator.
 */
export function listRevived(kept: string): readonly string[] {
  return [
    `SELECT 'key ' || restored.id || ' (' || restored.prefix || '...) of account ' || restored.account_id ||
        ' was revoked: ${NAME} key revoke ' || restored.id AS line
      FROM api_keys restored JOIN ${kept}.api_keys kept ON kept.hash = restored.hash
      WHERE kept.revoked_at_ms IS NOT NULL AND restored.revoked_at_ms IS NULL ORDER BY restored.id`,
    `SELECT 'account ' || restored.id || ' was suspended: ${NAME} account suspend ' || restored.id AS line
      FROM accounts restored JOIN ${kept}.accounts kept
        ON kept.id = restored.id AND kept.created_at_ms = restored.created_at_ms
      WHERE kept.suspended AND NOT restored.suspended ORDER BY restored.id`,
  ];
}
