/**
 * What Envoy's transcoder says of a request that it refuses: only its text tells what is wrong. All that is read of it
 * is here. test/rest/forms.test.ts provokes each text, and fails when a version of Envoy says it otherwise.
 */

/** `thing.color_id: invalid value "x" for type TYPE_INT64`. */
const OF_FIELD = /^(?<path>[\w.[\]]*): (?<rest>.*)$/s;
/** The end of a long value, and with it the type, may be missing. */
const INVALID = /^invalid value (?<what>.*?)(?: for type \S+)?$/s;
const ONE_OF = /^oneof field '\w+' is already set\./;
/** Others have prose in the place of the value: `Field 'shipDate', Illegal timestamp format`. */
const IS_JSON = /^(?:["\d{[-]|(?:true|false|null)$)/;
const NO_SCALAR = 'Starting an object on a scalar field';

export interface TranscoderText {
  /** Of the field in the request message: `thing.color_id`. */
  readonly path: string;
  /** The value is not of the field's type; two fields of a oneof are set; or something else. */
  readonly problem: 'type' | 'oneof' | 'other';
  /** The value in JSON, if the text has it. */
  readonly value: string | undefined;
}

/** Undefined for a text that names no field. */
export function readTranscoderText(text: string): TranscoderText | undefined {
  const { path, rest = '' } = OF_FIELD.exec(text)?.groups ?? {};
  if (path === undefined) return undefined;
  const { what } = INVALID.exec(rest)?.groups ?? {};
  if (what === undefined || what.startsWith(NO_SCALAR)) return { path, problem: 'other', value: undefined };
  if (ONE_OF.test(what)) return { path, problem: 'oneof', value: undefined };
  return { path, problem: 'type', value: IS_JSON.test(what) ? what : undefined };
}
