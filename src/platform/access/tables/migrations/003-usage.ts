/** What each account used each day, and the bans in force. */
import type { Knex } from 'knex';

export async function up(knex: Knex): Promise<void> {
  await knex.schema.createTable('usage', (table) => {
    table.bigInteger('account_id').notNullable().references('accounts.id');
    table.integer('day_index').notNullable(); // days since 1970-01-01, UTC
    table.bigInteger('requests').notNullable();
    table.bigInteger('refused').notNullable();
    table.primary(['account_id', 'day_index']);
    table.index('day_index');
  });
  await knex.schema.createTable('bans', (table) => {
    table.bigInteger('key_id').primary().references('api_keys.id');
    table.bigInteger('until_ms').notNullable();
  });
}
