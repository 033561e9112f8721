/** Path, query and content type of a request: what is wrong is found here, also of what the transcoder refuses. */
import { isUtf8 } from 'node:buffer';
import { type DescField, ScalarType } from '@bufbuild/protobuf';
import { MAX_PATH_LENGTH } from '../../config/constants.ts';
import { apiError, invalidArgument, short } from '../../errors.ts';
import { noneOf, TIMESTAMP } from '../../proto/fields.ts';
import type { Operation } from '../../proto/operations.ts';
import { hasVerb } from '../../proto/paths.ts';

/** More than any operation takes. */
const MAX_PARAMETERS = 150;

/** Throws unless the content type is JSON. Undefined means that the request has no body. */
export function checkContentType(contentType: string | undefined): void {
  if (contentType === undefined) return;
  if (!/^\s*application\/json\s*(;|$)/i.test(contentType)) throw apiError('UNSUPPORTED_CONTENT_TYPE', { contentType });
}

/**
 * Throws for values of the path or the query that are none of their fields, and for wrong parameters. The query is read
 * as the transcoder reads it, which sets the fields: parameters are separated by `&`, and the name is what stands
 * before the first `=`, percent-decoded. What has no `=` is skipped there, so it is refused here.
 */
export function checkParameters(path: string, operation: Operation): void {
  if (path.length > MAX_PATH_LENGTH)
    throw invalidArgument([
      { path: '', name: 'The path', description: `is longer than ${MAX_PATH_LENGTH} characters` },
    ]);
  const [pathname = '', query = ''] = path.split(/\?(.*)/s, 2);
  const wrong = new Map<string, string>();
  const checkValue = (field: DescField | undefined, name: string, encoded: string) => {
    const bytes = decode(encoded);
    const value = bytes.toString();
    const problem = field && problemIn(field, value);
    if (!isUtf8(bytes)) wrong.set(name, 'is not UTF-8');
    else if (problem !== undefined) wrong.set(name, `"${short(value)}" ${problem}`);
  };
  const matches = operation.routes.values().map(({ pattern }) => pattern.exec(pathname)); // as far as they are needed
  const match = matches.find((one) => one !== null);
  // The transcoder takes `/things/7/close` for the verb of `/things/7:close`.
  const verb = match === undefined ? operation.routes.find(hasVerb) : undefined;
  if (verb !== undefined) throw apiError('ROUTE_NOT_FOUND', { method: verb.method, path: pathname });
  for (const [at, value] of Object.entries(match?.groups ?? {})) {
    const field = operation.input.fields.find(({ name }) => name === at);
    checkValue(field, field?.jsonName ?? at, value);
  }
  const seen = new Set<string>();
  for (const [index, parameter] of query.split('&').filter(Boolean).entries()) {
    const name = parameterName(parameter);
    const field = operation.queryParameters.get(name);
    if (index === MAX_PARAMETERS) {
      wrong.set(name, `is one of more than ${MAX_PARAMETERS} parameters`);
      break;
    }
    if (field === undefined) wrong.set(name, 'is not a query parameter here');
    else if (seen.has(name) && field.fieldKind !== 'list') wrong.set(name, 'is given more than once');
    else if (!parameter.includes('=')) wrong.set(name, 'has no value');
    else checkValue(field, name, parameter.slice(parameter.indexOf('=') + 1));
    seen.add(name);
  }
  if (wrong.size > 0)
    throw invalidArgument(Array.from(wrong, ([name, description]) => ({ path: name, name, description })));
}

/** The name of a parameter: of `limit=5`, and of `%6Cimit=5`. */
export function parameterName(parameter: string): string {
  return decode(parameter.split('=', 1).join()).toString();
}

/** Decodes percent-encoded bytes. Those that are not encoded are characters of Latin-1 in a header. */
export function decode(text: string): Buffer {
  const decoded = text.replace(/(?:%[\da-f]{2})+/gi, (run) =>
    Buffer.from(run.replaceAll('%', ''), 'hex').toString('latin1'),
  );
  return Buffer.from(decoded, 'latin1');
}

const TIME = /^((?!0000)\d{4}-\d\d-\d\d)T([01]\d|2[0-3])(:[0-5]\d){2}(\.\d{1,9})?(Z|[+-]([01]\d|2[0-3]):[0-5]\d)$/;
const WHOLE = /^-?(0|[1-9]\d*)$/;
export const OUT_OF_RANGE = 'is out of range';

/** What is wrong with a value. It is spelled as in JSON: the transcoder also reads `+1`, `01`, `TRUE` and `y`. */
function problemIn(field: DescField, value: string): string | undefined {
  const { scalar, message, enum: names } = field;
  if (scalar === ScalarType.STRING) return undefined;
  if (names !== undefined) return names.values.some(({ name }) => name === value) ? undefined : problemOf(field);
  if (scalar === ScalarType.BOOL) return value === 'true' || value === 'false' ? undefined : problemOf(field);
  if (message !== undefined) return problemInTime(field, value);
  if (!WHOLE.test(value)) return problemOf(field);
  const bits = scalar === ScalarType.INT32 ? 32 : 64;
  const isInRange = value.length <= 20 && BigInt.asIntN(bits, BigInt(value)) === BigInt(value);
  return isInRange ? undefined : OUT_OF_RANGE;
}

/** Like json.lua of a time in a body. `Date` takes the 30th of February for the 2nd of March. */
function problemInTime(field: DescField, value: string): string | undefined {
  const [, day = ''] = TIME.exec(value) ?? [];
  if (new Date(day).getUTCDate() !== Number(day.slice(-2))) return problemOf(field);
  const year = new Date(value).getUTCFullYear();
  return year >= 1 && year <= 9999 ? undefined : OUT_OF_RANGE;
}

/** What is wrong with a value of another type than that of the field. */
export function problemOf(field: DescField): string {
  if (field.enum) return noneOf(field);
  if (field.message) return field.message.typeName === TIMESTAMP ? 'is no RFC 3339 timestamp' : 'is not an object';
  if (field.scalar === ScalarType.STRING) return 'is not a string';
  return field.scalar === ScalarType.BOOL ? 'is neither true nor false' : 'is not a whole number';
}
