import { postgresMissing, startPostgres, type TestPostgres } from '../support/postgres.ts';
import { suiteDatabase } from '../support/postgres-suite.ts';
import { testUnless } from '../support/programs.ts';
import { runStorageSuite } from './suite/suite.ts';

const test = testUnless(postgresMissing);
let server: TestPostgres;

test.before(async () => {
  server = await startPostgres(['fsync=off']);
});
test.after.always(() => server?.stop());

if (postgresMissing === undefined) runStorageSuite(() => suiteDatabase(server));
