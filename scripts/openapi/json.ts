/** JSON values, as the document is made of them. */

/** A member that is undefined is left out when the document is written. */
export interface JsonObject {
  readonly [name: string]: Json | undefined;
}

export type Json = null | boolean | number | string | readonly Json[] | JsonObject;

export function isObject(value: Json | undefined): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
