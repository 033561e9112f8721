/** Ways through a finished description: its operations, and where its references lead. */
import { type Json, type JsonObject, object } from '../json.ts';

/** A part of a document, which its references are to be looked up in. */
export interface Part {
  readonly root: JsonObject;
  readonly value: JsonObject;
}

/** What is at the end of a path of names, after the references on the way. */
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
  if (target === undefined) throw new Error(`${reference} leads nowhere`);
  // What stands beside a reference counts as well.
  const { $ref: _, ...beside } = value;
  return { root, value: { ...resolve(root, object(target)).value, ...beside } };
}

/** Every operation of a description, by `GET /pets`. */
export function operations(root: JsonObject): Map<string, Part> {
  const found = Object.entries(object(root.paths)).flatMap(([path, methods]) =>
    Object.entries(object(methods)).map(([method, operation]) => {
      return [`${method.toUpperCase()} ${path}`, { root, value: object(operation) }] as const;
    }),
  );
  return new Map(found);
}
