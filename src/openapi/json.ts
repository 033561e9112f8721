/** JSON values, as the document is made of them. */

/** A member that is undefined is left out when the document is written. */
export interface JsonObject {
  readonly [name: string]: Json | undefined;
}

export type Json = null | boolean | number | string | readonly Json[] | JsonObject;

/** The value as an object; an empty one when it is none, so that a path through a document needs no checks. */
export function object(value: Json | undefined): JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as JsonObject) : {};
}

/** The value as a list; an empty one when it is none. */
export function list(value: Json | undefined): readonly Json[] {
  return Array.isArray(value) ? value : [];
}
