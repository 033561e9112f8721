/** CategoryService: the kinds of animals that group the pets. */
import {
  Category as CategoryMessage,
  type CategoryServiceServer,
  type NewCategory,
} from '../../gen/petstore/v1/categories.ts';
import { apiError } from '../errors.ts';
import { type Category, type CategoryId, toCategoryId } from '../model.ts';
import type { Store, Transaction } from '../storage/store.ts';
import { checkIfMatch } from './if-match.ts';
import { trimmed } from './name.ts';
import { nextPageToken, toPageRequest } from './page-token.ts';
import type { Context, Service } from './service.ts';

export function categoryService(store: Store): Service<CategoryServiceServer> {
  return {
    async listCategories(request) {
      const page = await store.categories.page(toPageRequest('categories', request));
      return { categories: [...page.rows], nextPageToken: nextPageToken('categories', page, ({ id }) => id) };
    },

    createCategory: ({ category }, { isCancelled, remember }) =>
      store.write(({ categories }) => categories.insert(replacement(category)), isCancelled, remember),

    async getCategory({ categoryId }) {
      const category = await store.categories.find(toCategoryId(categoryId));
      if (category === undefined) throw apiError('CATEGORY_NOT_FOUND', { categoryId });
      return category;
    },

    replaceCategory: ({ categoryId, category }, context) =>
      change(toCategoryId(categoryId), () => replacement(category), context),

    updateCategory: ({ categoryId, category }, context) =>
      change(
        toCategoryId(categoryId),
        (current) => ({
          name: category?.name === undefined ? current.name : trimmed(category.name),
          description: category?.description ?? current.description,
        }),
        context,
      ),

    deleteCategory(request, context) {
      const categoryId = toCategoryId(request.categoryId);
      return store.transaction(
        async (tx) => {
          await lock(tx, categoryId, context);
          if (await tx.pets.existsInCategory(categoryId)) throw apiError('CATEGORY_IN_USE', { categoryId });
          await tx.categories.delete(categoryId);
          return {};
        },
        context.isCancelled,
        contendedCategory(categoryId),
      );
    },
  };

  function change(
    categoryId: CategoryId,
    toFields: (current: Category) => Omit<Category, 'id'>,
    context: Context,
  ): Promise<Category> {
    return store.transaction(
      async (tx) => {
        const current = await lock(tx, categoryId, context);
        const changed = { ...current, ...toFields(current) };
        await tx.categories.update(changed);
        return changed;
      },
      context.isCancelled,
      contendedCategory(categoryId),
    );
  }
}

/** The name that transactions which lock a category queue under. */
function contendedCategory(id: CategoryId): string {
  return `category ${id}`;
}

/** Locks the category. @throws ApiError when it does not exist or does not match the call's If-Match. */
async function lock(tx: Transaction, categoryId: CategoryId, context: Context): Promise<Category> {
  const category = await tx.categories.lock(categoryId);
  if (category === undefined) throw apiError('CATEGORY_NOT_FOUND', { categoryId });
  checkIfMatch(context, CategoryMessage, category);
  return category;
}

/** The fields of a new category. Validation has checked that the name is present. */
function replacement(category: NewCategory | undefined): Omit<Category, 'id'> {
  return { name: trimmed(category?.name ?? ''), description: category?.description };
}
