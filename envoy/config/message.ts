/** Envoy's configuration: a tree of proto messages in JSON. https://www.envoyproxy.io/docs/envoy/latest/api */

type Value = string | number | boolean | undefined | Message | readonly Value[];

/** A message, or a map. A field without a value is left out. */
export interface Message {
  readonly [field: string]: Value;
}

/** A message in a field of type google.protobuf.Any. */
export function any(type: string, fields: Message = {}): Message {
  return { '@type': `type.googleapis.com/${type}`, ...fields };
}

/** An extension of Envoy: the name of the instance, the type of its configuration, the configuration. */
export function extension(name: string, type: string, fields: Message = {}): Message {
  return { name, typed_config: any(type, fields) };
}

type AppendAction = 'ADD_IF_ABSENT' | 'APPEND_IF_EXISTS_OR_ADD' | 'OVERWRITE_IF_EXISTS' | 'OVERWRITE_IF_EXISTS_OR_ADD';

/** A HeaderValueOption. Without an action Envoy appends the value. */
export function header(key: string, value: string, append_action?: AppendAction): Message {
  return { header: { key, value }, append_action };
}

/** A text in a header's value, which Envoy takes as a format string. */
export function literal(text: string): string {
  return text.replaceAll('%', '%%');
}

/** The items of a list that depend on a setting. */
export function when<Item>(isOn: boolean, ...items: readonly Item[]): readonly Item[] {
  return isOn ? items : [];
}

/** What Envoy and nghttp2 take for no bound. */
export const UNLIMITED = 2 ** 32 - 1;

/** A duration: `1.5s`. */
export function seconds(ms: number): string {
  return `${ms / 1_000}s`;
}
