/** The types that the shop's services and tables exchange. */
import type { Id, Instant } from '../platform/storage/model.ts';

export type PetId = Id<'pet'>;
export type CategoryId = Id<'category'>;
export type OrderId = Id<'order'>;
export const toPetId = (id: bigint) => id as PetId;
export const toCategoryId = (id: bigint) => id as CategoryId;
export const toOrderId = (id: bigint) => id as OrderId;

export const PET_STATUSES = ['available', 'pending', 'sold'] as const;
export type PetStatus = (typeof PET_STATUSES)[number];

export interface Pet {
  readonly id: PetId;
  readonly name: string;
  readonly categoryId: CategoryId;
  readonly status: PetStatus;
  /** Units in stock: the pet's inventory entry. */
  readonly quantity: number;
}

export interface Category {
  readonly id: CategoryId;
  readonly name: string;
  readonly description: string | undefined;
}

export interface Order {
  readonly id: OrderId;
  readonly petId: PetId | undefined;
  readonly quantity: number;
  readonly shipDate: Instant | undefined;
  readonly complete: boolean;
}
