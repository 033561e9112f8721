/**
 * Finds breaking changes between two interface descriptions. It compares requests and responses of stable operations;
 * beta and experimental ones may change. docs/compatibility.md states the rules.
 */
import { type JsonObject, list, object } from '../json.ts';
import { operations, type Part, step } from './document.ts';
import { compareSchemas } from './schemas.ts';

/** Returns one line for each breaking change, in the order of the old description. */
export function findBreaks(old: JsonObject, current: JsonObject): string[] {
  const after = operations(current);
  return [...operations(old)].flatMap(([name, was]) => {
    if (was.value['x-stability'] !== undefined) return [];
    const is = after.get(name);
    const breaks = is === undefined ? ['it is gone'] : compareOperations(was, is);
    return breaks.map((text) => `${name}: ${text}`);
  });
}

function compareOperations(was: Part, is: Part): string[] {
  const { 'x-stability': stability } = is.value;
  return [
    ...(stability === undefined ? [] : [`it was stable and is ${stability}`]),
    ...compareParameters(was, is),
    ...compareBodies(was, is),
    ...compareResponses(was, is),
  ];
}

function compareParameters(was: Part, is: Part): string[] {
  const [before, after] = [parameters(was), parameters(is)];
  const required = [...after].filter(([name, { value }]) => value.required && !before.get(name)?.value.required);
  const compared = [...before].flatMap(([name, parameter]) => {
    const successor = after.get(name);
    if (successor === undefined) return [`${name}: it is gone`];
    return compareSchemas(step(parameter, 'schema'), step(successor, 'schema'), 'request', name);
  });
  return [...required.map(([name]) => `${name}: it is required`), ...compared];
}

/** Parameters by location and name: `query parameter limit`. */
function parameters({ root, value }: Part): Map<string, Part> {
  const each = list(value.parameters).map((parameter) => step({ root, value: { parameter } }, 'parameter'));
  return new Map(each.map((part) => [`${part.value.in} parameter ${part.value.name}`, part]));
}

function compareBodies(was: Part, is: Part): string[] {
  const [before, after] = [step(was, 'requestBody'), step(is, 'requestBody')];
  const isRequired = after.value.required === true && before.value.required !== true;
  const required = isRequired ? ['body: it is required'] : [];
  if (was.value.requestBody === undefined) return required;
  if (is.value.requestBody === undefined) return ['body: it is gone'];
  return [...required, ...compareSchemas(schemaOf(before), schemaOf(after), 'request', 'body')];
}

function compareResponses(was: Part, is: Part): string[] {
  return Object.keys(object(was.value.responses)).flatMap((status) => {
    const isSuccess = status.startsWith('2');
    // Removing an error breaks no caller.
    if (object(is.value.responses)[status] === undefined) return isSuccess ? [`${status}: it is gone`] : [];
    const [before, after] = [step(was, 'responses', status), step(is, 'responses', status)];
    return [
      ...compareHeaders(before, after, status),
      ...compareSchemas(schemaOf(before), schemaOf(after), 'response', `${status} body`),
    ];
  });
}

function compareHeaders(was: Part, is: Part, status: string): string[] {
  return Object.keys(object(was.value.headers)).flatMap((name) => {
    const at = `${status} header ${name}`;
    if (object(is.value.headers)[name] === undefined) return [`${at}: it is gone`];
    const [before, after] = [step(was, 'headers', name), step(is, 'headers', name)];
    const mayBeAbsent = before.value.required === true && after.value.required !== true;
    const compared = compareSchemas(step(before, 'schema'), step(after, 'schema'), 'response', at);
    return mayBeAbsent ? [`${at}: it may be absent`, ...compared] : compared;
  });
}

/** The schema of a body; an empty one where there is none, as with 204. */
function schemaOf(part: Part): Part {
  return step(part, 'content', 'application/json', 'schema');
}
