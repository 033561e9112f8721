/** Categories, pets with their stock, orders, and the events of all. */
import type { Knex } from 'knex';
import { recordEvents } from '../../platform/events/migrations/event-triggers.ts';

export async function up(knex: Knex): Promise<void> {
  await knex.schema.createTable('categories', (table) => {
    table.bigIncrements('id');
    table.text('name').notNullable();
    table.text('description');
  });

  // A pet's inventory entry is its `quantity`: it appears and goes with the pet, and status and stock change in one
  // row. Ids are never reused (AUTOINCREMENT), so a complete order never comes to name another pet.
  await knex.schema.createTable('pets', (table) => {
    table.bigIncrements('id');
    table.text('name').notNullable();
    table.bigInteger('category_id').notNullable().references('categories.id');
    table.text('status').notNullable().checkIn(['available', 'pending', 'sold']);
    table.integer('quantity').notNullable().defaultTo(0).checkBetween([0, 2_147_483_647]);
    // Each filter of a list has an index that ends in the id, so that a page starts where the last one ended.
    table.index(['category_id', 'id']);
    table.index(['status', 'id']);
    table.index(['category_id', 'status', 'id']);
  });

  // `pet_id` is no foreign key: a complete order stays when its pet goes.
  await knex.schema.createTable('orders', (table) => {
    table.bigIncrements('id');
    table.bigInteger('pet_id');
    table.integer('quantity').notNullable().checkPositive();
    table.bigInteger('ship_seconds');
    table.integer('ship_nanos');
    table.boolean('complete').notNullable();
    table.index(['pet_id', 'id']);
    table.index(['complete', 'id']);
    table.index(['pet_id', 'complete', 'id']);
  });

  await recordEvents(knex, { category: 'categories', pet: 'pets', order: 'orders' });
}
