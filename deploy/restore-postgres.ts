/**
 * Restores a dump of PostgreSQL in one transaction. It first moves every table of the service's schema into a schema of
 * its own, which is kept: so nothing of a newer release is in the way. It runs as the owner of the tables.
 */
import { TITLE } from '../src/identity.ts';
import { runWithDump, select } from './postgres-program.ts';
import type { Restored } from './restore-sqlite.ts';
import { listRevived, UNKNOWN_MIGRATIONS } from './restored-data.ts';

/** Moves the tables, with their indexes and sequences, and the functions, but none of an extension. */
const moveTables = (kept: string) => `
SET LOCAL lock_timeout = '10s';
SET LOCAL client_min_messages = warning;
DO $$ DECLARE moved record; BEGIN
  FOR moved IN
    SELECT * FROM (
      SELECT oid, 'TABLE' AS kind, oid::regclass::text AS name, relnamespace AS schema FROM pg_class
        WHERE relkind IN ('r', 'p', 'v', 'm')
      UNION ALL SELECT oid, 'ROUTINE', oid::regprocedure::text, pronamespace FROM pg_proc
    ) AS objects
    WHERE schema = current_schema()::regnamespace
      AND NOT EXISTS (SELECT FROM pg_depend WHERE objid = objects.oid AND deptype = 'e')
  LOOP
    EXECUTE 'CREATE SCHEMA IF NOT EXISTS ${kept}';
    EXECUTE format('ALTER %s %s SET SCHEMA ${kept}', moved.kind, moved.name);
  END LOOP;
END $$;
`;

/**
 * Comes before the locks on the tables, for which it would wait and fail with less to say, and after them: whoever
 * connects later finds the restored data.
 */
const REFUSE_SESSIONS = `
DO $$ DECLARE others text; BEGIN
  PERFORM pg_stat_clear_snapshot(); -- otherwise the second look would repeat what the first one saw
  SELECT count(*) || ' of ' || string_agg(DISTINCT usename, ', ') INTO others FROM pg_stat_activity
    WHERE datname = current_database() AND usesysid IS NOT NULL AND pid <> pg_backend_pid() HAVING count(*) > 0;
  IF others IS NOT NULL THEN
    RAISE EXCEPTION 'sessions are connected to the database (%): stop every server and what else is connected', others;
  END IF;
END $$;
`;

const CHECK_SCHEMA = `
RESET search_path;
DO $$ DECLARE unknown text; BEGIN
  PERFORM FROM pg_attribute WHERE attrelid = to_regclass('schema_migrations') AND attname = 'additive';
  IF NOT FOUND THEN
    RAISE EXCEPTION 'the dump is no backup of the ${TITLE}: it has none of its tables';
  END IF;
  SELECT string_agg(name, ', ') INTO unknown FROM (${UNKNOWN_MIGRATIONS}) AS names;
  IF unknown IS NOT NULL THEN
    RAISE EXCEPTION 'the dump has the migrations % of a newer release: restore it with that one', unknown;
  END IF;
END $$;
`;

/**
 * `time` becomes part of the name of what is kept. Throws ConfigError when the dump or the database can't be used;
 * nothing has changed then.
 */
export async function restorePostgres(url: string, dump: string, time: string): Promise<Restored> {
  const kept = `before_restore_${time.toLowerCase()}`;
  await runWithDump(url, dump, `${REFUSE_SESSIONS}${moveTables(kept)}${REFUSE_SESSIONS}`, CHECK_SCHEMA);
  /** Undefined if the database is away, or what was there can't be compared: it is restored all the same. */
  const ask = (...queries: readonly string[]) => {
    try {
      return select(url, ...queries);
    } catch {
      return undefined;
    }
  };
  const found = ask(`SELECT nspname FROM pg_namespace WHERE nspname = '${kept}'`);
  if (found?.length === 0) return { kept: undefined, revived: [] };
  return { kept: `the schema ${kept}`, revived: ask(...listRevived(kept)) };
}
