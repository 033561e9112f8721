#!/bin/sh
# Creates the files of compose.yaml's secrets: passwords and the operator's key once, and certificates for edge and
# servers each time.
# Other users of the machine can't open the folder. The files in it are readable, because each container reads them as
# its own user. Needs openssl.
#
#   deploy/compose/make-secrets.sh [FOLDER]
set -eu
folder=${1:-$(dirname "$0")/secrets}
umask 022
mkdir -p "$folder"
chmod 700 "$folder"

password() { openssl rand -hex 24; }
if [ ! -e "$folder/postgres-password" ]; then
  owner=$(password)
  server=$(password)
  redis=$(password)
  printf '%s\n' "postgres://petstore:$server@postgres:5432/petstore" >"$folder/database-url"
  printf '%s\n' "postgres://petstore_owner:$owner@postgres:5432/petstore" >"$folder/migration-database-url"
  cat >"$folder/postgres-users.sql" <<END
-- Only the migration owns tables. The servers may read and change rows.
CREATE ROLE petstore_owner LOGIN PASSWORD '$owner';
CREATE ROLE petstore LOGIN PASSWORD '$server';
ALTER DATABASE petstore OWNER TO petstore_owner;
ALTER DEFAULT PRIVILEGES FOR ROLE petstore_owner GRANT SELECT, INSERT, UPDATE, DELETE ON TABLES TO petstore;
ALTER DEFAULT PRIVILEGES FOR ROLE petstore_owner GRANT USAGE ON SEQUENCES TO petstore;
END
  printf '%s\n' "redis://:$redis@redis:6379" >"$folder/redis-url"
  printf 'requirepass %s\nsave ""\nappendonly no\n' "$redis" >"$folder/redis.conf"
  password >"$folder/operator-key"
  password >"$folder/postgres-password"
fi
"$(dirname "$0")/../make-certificates.sh" "$folder" server-1 server-2 server-3
chmod 644 "$folder"/server.key "$folder"/edge.key "$folder"/*.pem
