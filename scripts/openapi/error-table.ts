/** All errors: the platform's and the shop's. */
import { errorsOf, PLATFORM_ERRORS } from '../../src/platform/errors.ts';
import { SHOP_ERRORS } from '../../src/shop/errors.ts';

const ERRORS = { ...PLATFORM_ERRORS, ...SHOP_ERRORS };

export type ErrorCode = keyof typeof ERRORS;

export function isErrorCode(text: string): text is ErrorCode {
  return Object.hasOwn(ERRORS, text);
}

/** Creates any error. */
export const anyError = errorsOf(ERRORS);
