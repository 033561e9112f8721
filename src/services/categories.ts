/** CategoryService: the kinds of animals that group the pets. */
import type { CategoryServiceServer, NewCategory } from '../../gen/petstore/v1/categories.ts';
import { apiError } from '../errors.ts';
import type { Category } from '../model.ts';
import type { Store } from '../storage/store.ts';
import { trimmed } from './name.ts';
import { nextPageToken, toPageRequest } from './page-token.ts';
import type { Service } from './service.ts';

export function categoryService(store: Store): Service<CategoryServiceServer> {
  return {
    async listCategories(request) {
      const page = await store.categories.page(toPageRequest('categories', request));
      return { categories: [...page.rows], nextPageToken: nextPageToken('categories', page, ({ id }) => id) };
    },

    createCategory: ({ category }, { isWanted }) =>
      store.write((tx) => tx.categories.insert(replacement(category)), isWanted),

    async getCategory({ categoryId }) {
      const category = await store.categories.find(categoryId);
      if (category === undefined) throw apiError('CATEGORY_NOT_FOUND', { categoryId });
      return category;
    },

    replaceCategory: ({ categoryId, category }, { isWanted }) =>
      change(categoryId, () => replacement(category), isWanted),

    updateCategory: ({ categoryId, category }, { isWanted }) =>
      change(
        categoryId,
        (current) => ({
          name: category?.name === undefined ? current.name : trimmed(category.name),
          description: category?.description ?? current.description,
        }),
        isWanted,
      ),

    deleteCategory: ({ categoryId }, { isWanted }) =>
      store.transaction(async (tx) => {
        if ((await tx.categories.lock(categoryId)) === undefined) throw apiError('CATEGORY_NOT_FOUND', { categoryId });
        if (await tx.pets.existsInCategory(categoryId)) throw apiError('CATEGORY_IN_USE', { categoryId });
        await tx.categories.delete(categoryId);
        return {};
      }, isWanted),
  };

  function change(
    categoryId: bigint,
    toFields: (current: Category) => Omit<Category, 'id'>,
    isWanted: () => boolean,
  ): Promise<Category> {
    return store.transaction(async (tx) => {
      const current = await tx.categories.lock(categoryId);
      if (current === undefined) throw apiError('CATEGORY_NOT_FOUND', { categoryId });
      const changed = { ...current, ...toFields(current) };
      await tx.categories.update(changed);
      return changed;
    }, isWanted);
  }
}

/** All fields of a category as a caller gives them. Validation has seen to it that there is a name. */
function replacement(category: NewCategory | undefined): Omit<Category, 'id'> {
  return { name: trimmed(category?.name ?? ''), description: category?.description };
}
