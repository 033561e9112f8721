/** The account that an event belongs to, or 0: it is for all. The index is in `recordOwnedEvents`. */
import type { Knex } from 'knex';

export async function up(knex: Knex): Promise<void> {
  await knex.schema.alterTable('events', (table) => {
    table.bigInteger('account_id').notNullable().defaultTo(0);
  });
}
