/** The sequential model of a category without pets. */
import { categoryText, DONE } from './answers.ts';
import type { Request } from './history.ts';
import type { Model } from './linearize.ts';

/** Undefined before the category is created and after it is deleted. */
export type CategoryState = { readonly name: string; readonly description: string } | undefined;

export function categoryModel(id: number): Model<CategoryState, Request> {
  const shown = (state: { readonly name: string; readonly description: string }) => ({
    state,
    answer: categoryText({ id, ...state }),
  });
  return {
    initial: undefined,
    fingerprint: (state) => (state === undefined ? '' : `${state.name}: ${state.description}`),
    step(state, request) {
      if (request.do === 'createCategory') return shown({ name: request.name, description: request.description });
      if (state === undefined) return { state, answer: 'CATEGORY_NOT_FOUND' };
      switch (request.do) {
        case 'getCategory':
          return shown(state);
        case 'replaceCategory':
          return shown({ name: request.name, description: request.description });
        case 'updateCategory':
          return shown({ name: request.name ?? state.name, description: request.description ?? state.description });
        case 'deleteCategory':
          return { state: undefined, answer: DONE };
        default:
          throw new Error(`a category knows nothing of ${request.do}`);
      }
    },
  };
}
