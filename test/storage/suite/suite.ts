/** What every storage engine guarantees. Each engine's test file runs it with a function that creates a database. */
import { type CreateDatabase, useDatabase } from './database.ts';
import { eventTests } from './events.ts';
import { failureTests } from './failures.ts';
import { fieldTests } from './fields.ts';
import { idempotencyTests } from './idempotency.ts';
import { orderTests } from './orders.ts';
import { ownerTests } from './owners.ts';
import { pageTests } from './pages.ts';
import { rowTests } from './rows.ts';
import { transactionTests } from './transactions.ts';
import { usageTests } from './usage.ts';

/** `through` is what is between the tests and the database: it changes how transactions run, not what they store. */
export function runStorageSuite<Shared>(createDatabase: CreateDatabase<Shared>, through?: 'PgBouncer'): void {
  useDatabase(createDatabase);
  transactionTests();
  idempotencyTests();
  failureTests();
  if (through !== undefined) return;
  rowTests();
  usageTests();
  pageTests();
  orderTests();
  fieldTests();
  eventTests();
  ownerTests();
}
