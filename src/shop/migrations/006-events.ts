/**
 * Events of the shop. Triggers write them, so no change of a pet, a category or an order is without its event, whoever
 * makes the change: an older release beside this one, or the operator.
 */
import type { Knex } from 'knex';
import { recordEvents } from '../../platform/events/migrations/event-triggers.ts';

export async function up(knex: Knex): Promise<void> {
  await recordEvents(knex, { category: 'categories', pet: 'pets', order: 'orders' });
}
