/** Accounts and their API keys: what each account used each day, when each key was last used, and its last ban. */
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
    table.text('permission').notNullable().defaultTo('write');
    table.bigInteger('replaces'); // ids of keys
    table.bigInteger('replaced_by');
    table.index(['account_id', 'id']);
  });

  await knex.schema.createTable('usage', (table) => {
    table.bigInteger('account_id').notNullable().references('accounts.id');
    table.integer('day_index').notNullable(); // days since 1970-01-01, UTC
    table.bigInteger('requests').notNullable();
    table.bigInteger('refused').notNullable();
    table.primary(['account_id', 'day_index']);
    table.index('day_index');
  });
  await knex.schema.createTable('key_uses', (table) => {
    table.bigInteger('key_id').primary();
    table.bigInteger('last_used_at_ms').notNullable();
  });
  await knex.schema.createTable('bans', (table) => {
    table.bigInteger('key_id').primary().references('api_keys.id');
    table.bigInteger('until_ms').notNullable();
    table.bigInteger('duration_ms'); // it began so long before its end
    table.integer('refusals'); // that led to it
    table.integer('window_seconds'); // of the limit that the last of them was beyond: a minute's or a day's
  });
}
