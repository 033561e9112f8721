/** Accounts and their API keys. */
import type { Knex } from 'knex';

export async function up(knex: Knex): Promise<void> {
  await knex.schema.createTable('accounts', (table) => {
    table.bigIncrements('id');
    table.text('name').notNullable();
    table.text('plan').notNullable().checkIn(['free', 'pro', 'business', 'enterprise']);
    // Agreed limits, for enterprise accounts.
    table.integer('per_minute');
    table.integer('per_day');
    table.boolean('suspended').notNullable().defaultTo(false);
    table.bigInteger('created_at_ms').notNullable();
  });

  // Only the SHA-256 of a key is stored, with its first characters for display.
  await knex.schema.createTable('api_keys', (table) => {
    table.bigIncrements('id');
    table.bigInteger('account_id').notNullable().references('accounts.id');
    table.binary('hash').notNullable().unique();
    table.text('prefix').notNullable();
    table.text('label');
    table.bigInteger('created_at_ms').notNullable();
    table.bigInteger('expires_at_ms');
    table.bigInteger('revoked_at_ms');
    table.index(['account_id', 'id']);
  });
}
