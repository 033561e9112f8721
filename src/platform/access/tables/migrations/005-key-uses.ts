/** When each API key was last used, and how a ban came about. */
import type { Knex } from 'knex';

export async function up(knex: Knex): Promise<void> {
  await knex.schema.createTable('key_uses', (table) => {
    table.bigInteger('key_id').primary();
    table.bigInteger('last_used_at_ms').notNullable();
  });
  await knex.schema.alterTable('bans', (table) => {
    table.bigInteger('duration_ms'); // it began so long before its end
    table.integer('refusals'); // that led to it
    table.integer('window_seconds'); // of the limit that the last of them was beyond: a minute's or a day's
  });
}
