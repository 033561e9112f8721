/** JSON as the document is made of it. A member that is undefined is left out when it is written. */
export type Json = null | boolean | number | string | readonly Json[] | JsonObject;

export interface JsonObject {
  readonly [name: string]: Json | undefined;
}
