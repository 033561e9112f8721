// Made from the proto files by "npm run generate". DO NOT EDIT.

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
