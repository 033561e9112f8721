/** What each API key allows, and which key has replaced which. */
import type { Knex } from 'knex';

export async function up(knex: Knex): Promise<void> {
  await knex.schema.alterTable('api_keys', (table) => {
    table.text('permission').notNullable().defaultTo('write');
    table.bigInteger('replaces'); // ids of keys
    table.bigInteger('replaced_by');
  });
}
