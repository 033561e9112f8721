/** Stability and deprecation of an operation: extensions for programs, text for people. */
import type { DescMessage, Registry } from '@bufbuild/protobuf';
import type { Deprecation } from '../proto/operations.ts';
import { commentOf, toWords } from './comments.ts';
import type { JsonObject } from './json.ts';

interface Notice {
  /** Members of the operation object. */
  readonly members: JsonObject;
  /** A paragraph of its description. */
  readonly text: string;
}

/** The notice of an operation that may still change; undefined for a stable one. */
export function stabilityNotice(stability: number, registry: Registry): Notice | undefined {
  const value = registry.getEnum('petstore.rest.v1.Stability')?.value[stability];
  if (value === undefined || value.number === 0) return undefined;
  const name = value.localName.toLowerCase();
  return { members: { 'x-stability': name }, text: `**${toWords(name)}**: ${uncapitalised(commentOf(value))}` };
}

export function deprecationNotice({ since, sunset, successor }: Deprecation, input: DescMessage): Notice {
  const instead = toJsonNames(successor, input);
  return {
    members: { deprecated: true, 'x-sunset': instant(sunset) },
    text: `**Deprecated** since ${date(since)}; the sunset is ${instant(sunset)}. Call \`GET ${instead}\` instead.`,
  };
}

/** Replaces the field names in a path template by their JSON names: `/pets/{petId}`. Throws for unknown fields. */
export function toJsonNames(template: string, input: DescMessage): string {
  return template.replace(/\{(\w+)\}/g, (place, name: string) => {
    const field = input.fields.find((candidate) => candidate.name === name);
    if (field === undefined) throw new Error(`${input.typeName} has no field for ${place} of ${template}`);
    return `{${field.jsonName}}`;
  });
}

function instant(at: Date): string {
  return at.toISOString().replace('.000', '');
}

function date(at: Date): string {
  return at.toISOString().slice(0, 'yyyy-mm-dd'.length);
}

function uncapitalised(text: string): string {
  return text.charAt(0).toLowerCase() + text.slice(1);
}
