// Made from the proto files by "npm run generate". DO NOT EDIT.

import {
  ListCategoriesRequest,
  CreateCategoryRequest,
  GetCategoryRequest,
  ReplaceCategoryRequest,
  UpdateCategoryRequest,
  DeleteCategoryRequest,
} from '../petstore/v1/categories.ts';
import {
  ListPetsRequest,
  CreatePetRequest,
  GetPetRequest,
  ReplacePetRequest,
  UpdatePetRequest,
  DeletePetRequest,
} from '../petstore/v1/pets.ts';
import {
  ListInventoryRequest,
  GetInventoryItemRequest,
  SetInventoryRequest,
} from '../petstore/v1/inventory.ts';
import {
  ListOrdersRequest,
  PlaceOrderRequest,
  GetOrderRequest,
  UpdateOrderRequest,
  CancelOrderRequest,
} from '../petstore/v1/orders.ts';
import {
  ListEventsRequest,
  WatchEventsRequest,
} from '../petstore/v1/events.ts';

/** Methods that may be called again with nothing changing any more. */
export const IDEMPOTENT = [
  '/petstore.v1.CategoryService/ListCategories',
  '/petstore.v1.CategoryService/GetCategory',
  '/petstore.v1.CategoryService/ReplaceCategory',
  '/petstore.v1.CategoryService/DeleteCategory',
  '/petstore.v1.PetService/ListPets',
  '/petstore.v1.PetService/GetPet',
  '/petstore.v1.PetService/ReplacePet',
  '/petstore.v1.PetService/DeletePet',
  '/petstore.v1.InventoryService/ListInventory',
  '/petstore.v1.InventoryService/GetInventoryItem',
  '/petstore.v1.InventoryService/SetInventory',
  '/petstore.v1.OrderService/ListOrders',
  '/petstore.v1.OrderService/GetOrder',
  '/petstore.v1.OrderService/CancelOrder',
  '/petstore.v1.EventService/ListEvents',
  '/petstore.v1.EventService/WatchEvents',
] as const;

/** Methods that take an idempotency key. */
export const CREATING = [
  '/petstore.v1.CategoryService/CreateCategory',
  '/petstore.v1.PetService/CreatePet',
  '/petstore.v1.OrderService/PlaceOrder',
] as const;

/** Methods that take a condition (`if-match`). */
export const CONDITIONAL = [
  '/petstore.v1.CategoryService/ReplaceCategory',
  '/petstore.v1.CategoryService/UpdateCategory',
  '/petstore.v1.CategoryService/DeleteCategory',
  '/petstore.v1.PetService/ReplacePet',
  '/petstore.v1.PetService/UpdatePet',
  '/petstore.v1.PetService/DeletePet',
  '/petstore.v1.InventoryService/SetInventory',
  '/petstore.v1.OrderService/UpdateOrder',
  '/petstore.v1.OrderService/CancelOrder',
] as const;

/** The request messages. `fromPartial` fills in the default of every field, as deep as messages go. */
export const REQUESTS: Readonly<Record<string, { fromPartial(partial: never): object }>> = {
  '/petstore.v1.CategoryService/ListCategories': ListCategoriesRequest,
  '/petstore.v1.CategoryService/CreateCategory': CreateCategoryRequest,
  '/petstore.v1.CategoryService/GetCategory': GetCategoryRequest,
  '/petstore.v1.CategoryService/ReplaceCategory': ReplaceCategoryRequest,
  '/petstore.v1.CategoryService/UpdateCategory': UpdateCategoryRequest,
  '/petstore.v1.CategoryService/DeleteCategory': DeleteCategoryRequest,
  '/petstore.v1.PetService/ListPets': ListPetsRequest,
  '/petstore.v1.PetService/CreatePet': CreatePetRequest,
  '/petstore.v1.PetService/GetPet': GetPetRequest,
  '/petstore.v1.PetService/ReplacePet': ReplacePetRequest,
  '/petstore.v1.PetService/UpdatePet': UpdatePetRequest,
  '/petstore.v1.PetService/DeletePet': DeletePetRequest,
  '/petstore.v1.InventoryService/ListInventory': ListInventoryRequest,
  '/petstore.v1.InventoryService/GetInventoryItem': GetInventoryItemRequest,
  '/petstore.v1.InventoryService/SetInventory': SetInventoryRequest,
  '/petstore.v1.OrderService/ListOrders': ListOrdersRequest,
  '/petstore.v1.OrderService/PlaceOrder': PlaceOrderRequest,
  '/petstore.v1.OrderService/GetOrder': GetOrderRequest,
  '/petstore.v1.OrderService/UpdateOrder': UpdateOrderRequest,
  '/petstore.v1.OrderService/CancelOrder': CancelOrderRequest,
  '/petstore.v1.EventService/ListEvents': ListEventsRequest,
  '/petstore.v1.EventService/WatchEvents': WatchEventsRequest,
};
