-- What the servers' user may do: read and change rows. The owner of the tables runs it once, before or after it has
-- migrated:
--   psql "$OWNER_URL" --set=server=petstore --file=deploy/grants.sql
-- Without ownership and without CREATE the servers can't change the schema, nor see what a restore has kept.
GRANT USAGE ON SCHEMA public TO :"server";
GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA public TO :"server";
GRANT USAGE ON ALL SEQUENCES IN SCHEMA public TO :"server";

-- The same for the tables that this owner's later migrations and restores make.
ALTER DEFAULT PRIVILEGES IN SCHEMA public GRANT SELECT, INSERT, UPDATE, DELETE ON TABLES TO :"server";
ALTER DEFAULT PRIVILEGES IN SCHEMA public GRANT USAGE ON SEQUENCES TO :"server";
