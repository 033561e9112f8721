/** CategoryService: the kinds of animals that group the pets. */
import {
  Category as CategoryMessage,
  type CategoryServiceServer,
  type NewCategory,
} from '../../gen/petstore/v1/categories.ts';
import { existing } from '../errors.ts';
import { trimmed } from '../proto/name.ts';
import { checkIfMatch } from '../rpc/if-match.ts';
import { pageTokens } from '../rpc/page-token.ts';
import type { Context, Service } from '../rpc/service.ts';
import { shopError } from './errors.ts';
import { type Category, type CategoryId, toCategoryId } from './model.ts';
import type { ShopStore, ShopTransaction } from './tables.ts';

const PAGES = pageTokens(2);

export function categoryService(store: ShopStore): Service<CategoryServiceServer> {
  return {
    async listCategories(request) {
      const page = await store.categories.page(PAGES.toPageRequest(request));
      return { categories: [...page.rows], nextPageToken: PAGES.next(page, ({ id }) => id) };
    },

    createCategory: ({ category }, call) =>
      store.forCall(call).write(({ categories }) => categories.insert(replacement(category))),

    getCategory: async ({ categoryId }) =>
      existing(await store.categories.find(toCategoryId(categoryId)), () =>
        shopError('CATEGORY_NOT_FOUND', { categoryId }),
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
        if (await tx.pets.existsInCategory(categoryId)) throw shopError('CATEGORY_IN_USE', { categoryId });
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
async function lock(tx: ShopTransaction, categoryId: CategoryId, call: Context): Promise<Category> {
  const category = existing(await tx.categories.lock(categoryId), () =>
    shopError('CATEGORY_NOT_FOUND', { categoryId }),
  );
  checkIfMatch(call, CategoryMessage, category);
  return category;
}

/** The fields of a new category. Validation has checked that the name is present. */
function replacement(category: NewCategory | undefined): Omit<Category, 'id'> {
  return { name: trimmed(category?.name ?? ''), description: category?.description };
}
