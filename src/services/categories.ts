/** CategoryService: the kinds of animals that group the pets. */
import {
  Category as CategoryMessage,
  type CategoryServiceServer,
  type NewCategory,
} from '../../gen/petstore/v1/categories.ts';
import { apiError } from '../errors.ts';
import type { Category } from '../model.ts';
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
      store.write((tx) => tx.categories.insert(replacement(category)), isCancelled, remember),

    async getCategory({ categoryId }) {
      const category = await store.categories.find(categoryId);
      if (category === undefined) throw apiError('CATEGORY_NOT_FOUND', { categoryId });
      return category;
    },

    replaceCategory: ({ categoryId, category }, context) => change(categoryId, () => replacement(category), context),

    updateCategory: ({ categoryId, category }, context) =>
      change(
        categoryId,
        (current) => ({
          name: category?.name === undefined ? current.name : trimmed(category.name),
          description: category?.description ?? current.description,
        }),
        context,
      ),

    deleteCategory: ({ categoryId }, context) =>
      store.transaction(
        async (tx) => {
          await lock(tx, categoryId, context);
          if (await tx.pets.existsInCategory(categoryId)) throw apiError('CATEGORY_IN_USE', { categoryId });
          await tx.categories.delete(categoryId);
          return {};
        },
        context.isCancelled,
        `category ${categoryId}`,
      ),
  };

  function change(
    categoryId: bigint,
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
      `category ${categoryId}`,
    );
  }
}

/** The category, if it is as the caller wants it to be, and as it stays until the transaction ends. */
async function lock(tx: Transaction, categoryId: bigint, context: Context): Promise<Category> {
  const category = await tx.categories.lock(categoryId);
  if (category === undefined) throw apiError('CATEGORY_NOT_FOUND', { categoryId });
  checkIfMatch(context, CategoryMessage, category);
  return category;
}

/** All fields of a category as a caller gives them. Validation has seen to it that there is a name. */
function replacement(category: NewCategory | undefined): Omit<Category, 'id'> {
  return { name: trimmed(category?.name ?? ''), description: category?.description };
}
