/** Boats with their inspections, and rentals, each of an account, with their events. */
import type { Knex } from 'knex';
import { recordEvents, recordOwnedEvents } from '../../platform/events/migrations/event-triggers.ts';

export async function up(knex: Knex): Promise<void> {
  await knex.schema.createTable('boats', (table) => {
    table.bigIncrements('id');
    table.text('name').notNullable();
    table.integer('seats').notNullable();
    table.text('equipment').notNullable().defaultTo('[]');
  });
  await knex.schema.createTable('rentals', (table) => {
    table.bigIncrements('id');
    table.bigInteger('account_id').notNullable().references('accounts.id');
    table.bigInteger('boat_id').notNullable().references('boats.id');
    for (const name of ['start', 'end']) {
      table.bigInteger(`${name}_seconds`).notNullable();
      table.integer(`${name}_nanos`).notNullable();
    }
    table.index(['account_id', 'id']);
    table.index(['account_id', 'boat_id', 'id']);
    table.index(['boat_id', 'start_seconds']);
  });
  await knex.schema.createTable('inspections', (table) => {
    table.text('id').primary();
    table.bigInteger('boat_id').notNullable().references('boats.id');
    table.bigInteger('time_seconds').notNullable();
    table.integer('time_nanos').notNullable();
    table.text('severity').notNullable();
    table.text('note');
    for (const name of ['estimate', 'cost']) {
      table.bigInteger(`${name}_amount`);
      table.text(`${name}_currency`);
    }
    table.index(['boat_id', 'time_seconds', 'time_nanos', 'id']);
  });
  await recordEvents(knex, { boat: 'boats', inspection: 'inspections' });
  await recordOwnedEvents(knex, { rental: 'rentals' });
}
