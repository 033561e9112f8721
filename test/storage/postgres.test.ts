import { postgresMissing, startPostgres } from '../support/machine/postgres.ts';
import { sharing } from '../support/service/sharing.ts';
import { suiteDatabase } from './postgres.ts';
import { runStorageSuite } from './suite/suite.ts';

sharing(postgresMissing, (t) => startPostgres(t, ['fsync=off']));
if (postgresMissing === undefined) runStorageSuite(suiteDatabase);
