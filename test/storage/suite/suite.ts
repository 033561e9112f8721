/** What every storage engine guarantees. Each engine's test file runs it with a function that creates a database. */
import { accountTests } from './accounts.ts';
import { banTests } from './bans.ts';
import { catalogueTests } from './catalogue.ts';
import { type CreateDatabase, useDatabase } from './database.ts';
import { eventTests } from './events.ts';
import { failureTests } from './failures.ts';
import { idempotencyTests } from './idempotency.ts';
import { listTests } from './lists.ts';
import { lookupTests } from './lookups.ts';
import { pageTests } from './pages.ts';
import { schemaTests } from './schema.ts';
import { transactionTests } from './transactions.ts';
import { writeTests } from './writes.ts';

export function runStorageSuite(createDatabase: CreateDatabase): void {
  useDatabase(createDatabase);
  catalogueTests();
  accountTests();
  banTests();
  pageTests();
  lookupTests();
  listTests();
  transactionTests();
  writeTests();
  idempotencyTests();
  eventTests();
  failureTests();
  schemaTests();
}
