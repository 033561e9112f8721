/** CategoryService: the kinds of animals that group the pets. */
import {
  Category as CategoryMessage,
  type CategoryServiceServer,
  type NewCategory,
} from '../../../gen/petstore/v1/categories.ts';
import { existing } from '../../platform/errors.ts';
import { trimmed } from '../../platform/proto/fields.ts';
import { checkIfMatch } from '../../platform/rpc/if-match.ts';
import type { Context, Service } from '../../platform/rpc/methods.ts';
import { pageTokens } from '../../platform/rpc/page-token.ts';
import { shopError } from '../errors.ts';
import type { ShopStore, ShopTransaction } from '../tables.ts';
import { type Category, toCategoryId } from './table.ts';

const PAGES = pageTokens(2);

export function categoryService(store: ShopStore): Service<CategoryServiceServer> {
  /** Changes a category, which must exist and match the call's If-Match. */
  const change = <T>(id: bigint, call: Context, work: (tx: ShopTransaction, category: Category) => Promise<T>) => {
    const categoryId = toCategoryId(id);
    return store.forCall(call, `category ${categoryId}`).transaction(async (tx) => {
      const found = await tx.categories.lock(categoryId);
      const category = existing(found, () => shopError('CATEGORY_NOT_FOUND', { categoryId }));
      checkIfMatch(call, CategoryMessage, category);
      return work(tx, category);
    });
  };

  return {
    async listCategories(request) {
      const page = await store.categories.page(PAGES.toPageRequest(request));
      return { categories: [...page.rows], nextPageToken: PAGES.next(page, ({ id }) => id) };
    },

    createCategory: ({ category }, call) =>
      store.forCall(call).write(({ categories }) => categories.insert(fieldsOf(category))),

    getCategory: async ({ categoryId }) =>
      existing(await store.categories.find(toCategoryId(categoryId)), () =>
        shopError('CATEGORY_NOT_FOUND', { categoryId }),
      ),

    replaceCategory: ({ categoryId, category }, call) =>
      change(categoryId, call, (tx, current) => update(tx, { ...current, ...fieldsOf(category) })),

    updateCategory: ({ categoryId, category }, call) =>
      change(categoryId, call, (tx, current) =>
        update(tx, {
          ...current,
          name: category?.name === undefined ? current.name : trimmed(category.name),
          description: category?.description ?? current.description,
        }),
      ),

    deleteCategory: ({ categoryId }, call) =>
      change(categoryId, call, async (tx, { id }) => {
        if (await tx.pets.existsInCategory(id)) throw shopError('CATEGORY_IN_USE', { categoryId });
        await tx.categories.delete(id);
        return {};
      }),
  };
}

async function update(tx: ShopTransaction, changed: Category): Promise<Category> {
  await tx.categories.update(changed);
  return changed;
}

/** The fields of a new category or a replacement. Validation has checked that the name is present. */
function fieldsOf(category: NewCategory | undefined): Omit<Category, 'id'> {
  return { name: trimmed(category?.name ?? ''), description: category?.description };
}
