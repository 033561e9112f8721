import { postgresMissing, startPostgres, type TestPostgres } from '../support/machine/postgres.ts';
import { testUnless } from '../support/machine/programs.ts';
import { suiteDatabase } from './postgres-suite.ts';
import { runStorageSuite } from './suite/suite.ts';

const test = testUnless(postgresMissing);
let server: TestPostgres;

test.before(async () => {
  server = await startPostgres(['fsync=off']);
});
test.after.always(() => server?.stop());

if (postgresMissing === undefined) runStorageSuite(() => suiteDatabase(server));
