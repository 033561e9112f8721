/**
 * The feed of events. Triggers write it, so no change of a pet, a category or an order is without its event, whoever
 * makes the change: an older release beside this one, or the operator.
 */
import type { Knex } from 'knex';
import { recordEvents } from '../../platform/storage/event-triggers.ts';

export async function up(knex: Knex): Promise<void> {
  await knex.schema.createTable('events', (table) => {
    // Never reused (AUTOINCREMENT), so an id that a reader has seen stays that event's.
    table.bigIncrements('id');
    table.text('type').notNullable();
    table.bigInteger('time_ms').notNullable();
    table.text('resource').notNullable(); // the row, as a JSON object
  });
  await recordEvents(knex, { category: 'categories', pet: 'pets', order: 'orders' });
}
