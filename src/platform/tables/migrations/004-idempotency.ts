/** The answers of writes that carried an idempotency key. */
import type { Knex } from 'knex';

export async function up(knex: Knex): Promise<void> {
  await knex.schema.createTable('idempotency_records', (table) => {
    // Ascending with age: the oldest records are found without an index on their time.
    table.bigIncrements('sequence');
    table.text('id').notNullable().unique();
    table.binary('request_digest').notNullable();
    table.binary('answer').notNullable();
    table.bigInteger('created_at_ms').notNullable();
  });
}
