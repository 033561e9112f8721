/** Navigates a finished description: its operations and references. */
import { type Json, type JsonObject, object } from '../json.ts';

/** A part of a document, with the document that its references point into. */
export interface Part {
  readonly root: JsonObject;
  readonly value: JsonObject;
}

/** Follows a path of names, resolving references on the way. */
export function step(part: Part, ...names: readonly string[]): Part {
  return names.reduce(({ root, value }, name) => resolve(root, object(value[name])), part);
}

function resolve(root: JsonObject, value: JsonObject): Part {
  const { $ref: reference } = value;
  if (typeof reference !== 'string') return { root, value };
  const target = reference
    .split('/')
    .slice(1)
    .reduce<Json | undefined>((found, name) => object(found)[name], root);
  if (target === undefined) throw new Error(`${reference} does not resolve`);
  // OpenAPI 3.1 allows members beside a reference.
  const { $ref: _, ...beside } = value;
  return { root, value: { ...resolve(root, object(target)).value, ...beside } };
}

/** All operations of a description, by method and path: `GET /pets`. */
export function operations(root: JsonObject): Map<string, Part> {
  const found = Object.entries(object(root.paths)).flatMap(([path, methods]) =>
    Object.entries(object(methods)).map(([method, operation]) => {
      return [`${method.toUpperCase()} ${path}`, { root, value: object(operation) }] as const;
    }),
  );
  return new Map(found);
}
