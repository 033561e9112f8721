/** CategoryService: the kinds of animals that group the pets. */
import {
  Category as CategoryMessage,
  type CategoryServiceServer,
  type NewCategory,
} from '../../gen/petstore/v1/categories.ts';
import { apiError, existing } from '../errors.ts';
import { type Category, type CategoryId, toCategoryId } from '../model.ts';
import type { CallStore, Transaction } from '../storage/store.ts';
import { checkIfMatch } from './if-match.ts';
import { trimmed } from './name.ts';
import { nextPageToken, toPageRequest } from './page-token.ts';
import type { Context, Service } from './service.ts';

export function categoryService(store: CallStore): Service<CategoryServiceServer> {
  return {
    async listCategories(request) {
      const page = await store.categories.page(toPageRequest('categories', request));
      return { categories: [...page.rows], nextPageToken: nextPageToken('categories', page, ({ id }) => id) };
    },

    createCategory: ({ category }, call) =>
      store.forCall(call).write(({ categories }) => categories.insert(replacement(category))),

    getCategory: async ({ categoryId }) =>
      existing(await store.categories.find(toCategoryId(categoryId)), () =>
        apiError('CATEGORY_NOT_FOUND', { categoryId }),
      ),

    replaceCategory: ({ categoryId, category }, call) =>
      change(toCategoryId(categoryId), () => replacement(category), call),

    updateCategory: ({ categoryId, category }, call) =>
      change(
        toCategoryId(categoryId),
        (current) => ({
          name: category?.name === undefined ? current.name : trimmed(category.name),
          description: category?.description ?? current.description,
        }),
        call,
      ),

    deleteCategory(request, call) {
      const categoryId = toCategoryId(request.categoryId);
      return store.forCall(call).transaction(async (tx) => {
        await lock(tx, categoryId, call);
        if (await tx.pets.existsInCategory(categoryId)) throw apiError('CATEGORY_IN_USE', { categoryId });
        await tx.categories.delete(categoryId);
        return {};
      }, contendedCategory(categoryId));
    },
  };

  function change(
    categoryId: CategoryId,
    toFields: (current: Category) => Omit<Category, 'id'>,
    call: Context,
  ): Promise<Category> {
    return store.forCall(call).transaction(async (tx) => {
      const current = await lock(tx, categoryId, call);
      const changed = { ...current, ...toFields(current) };
      await tx.categories.update(changed);
      return changed;
    }, contendedCategory(categoryId));
  }
}

/** The name that transactions which lock a category queue under. */
function contendedCategory(id: CategoryId): string {
  return `category ${id}`;
}

/** Locks the category. @throws ApiError when it does not exist or does not match the call's If-Match. */
async function lock(tx: Transaction, categoryId: CategoryId, call: Context): Promise<Category> {
  const category = existing(await tx.categories.lock(categoryId), () => apiError('CATEGORY_NOT_FOUND', { categoryId }));
  checkIfMatch(call, CategoryMessage, category);
  return category;
}

/** The fields of a new category. Validation has checked that the name is present. */
function replacement(category: NewCategory | undefined): Omit<Category, 'id'> {
  return { name: trimmed(category?.name ?? ''), description: category?.description };
}
