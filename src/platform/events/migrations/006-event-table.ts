/** The feed of events, which the triggers of event-triggers.ts write. */
import type { Knex } from 'knex';

export async function up(knex: Knex): Promise<void> {
  await knex.schema.createTable('events', (table) => {
    // Never reused (AUTOINCREMENT), so an id that a reader has seen stays that event's.
    table.bigIncrements('id');
    table.text('type').notNullable();
    table.bigInteger('time_ms').notNullable();
    table.text('resource').notNullable(); // the row, as a JSON object
  });
}
