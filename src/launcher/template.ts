/** Templates of Envoy configurations: places that are filled in, and parts that are left out. */

/** What stands in a place: a text (in double quotes there) or a number; or YAML, whatever it holds. */
export type Value = string | number | readonly unknown[];

/**
 * Fills in the `${NAME}` places of a template and chooses its optional parts. A part stands between `#if NAME` and
 * `#endif`, with `#else` before what takes its place when it is off; each is a line of its own.
 */
export function fillIn(
  template: string,
  values: Readonly<Record<string, Value>>,
  parts: Readonly<Record<string, boolean>> = {},
): string {
  return choose(template, parts).replace(/\$\{([A-Z_]+)\}/g, (place, name: string) => {
    const value = values[name];
    if (value === undefined) return place;
    // JSON is YAML, on one line.
    return Array.isArray(value) ? JSON.stringify(value) : String(value).replace(/["\\]/g, '\\$&');
  });
}

/** The lines of a template without those of parts that are off. */
function choose(template: string, parts: Readonly<Record<string, boolean>>): string {
  /** Of each part that the line is in, from the outermost: whether its lines are to be there. */
  const open: boolean[] = [];
  const lines = template.split('\n').filter((line) => {
    const [, directive, name = ''] = /^ *#(if|else|endif)(?: (\w+))?$/.exec(line) ?? [];
    if (directive === undefined) return open.every((isThere) => isThere);
    if (directive === 'if') open.push(isOn(parts, name));
    else {
      const isThere = open.pop();
      if (isThere === undefined) throw new Error(`the template has "${line.trim()}" outside of a part`);
      if (directive === 'else') open.push(!isThere);
    }
    return false;
  });
  if (open.length > 0) throw new Error('the template has a part without an end');
  return lines.join('\n');
}

function isOn(parts: Readonly<Record<string, boolean>>, name: string): boolean {
  const isOn = parts[name];
  if (isOn === undefined) throw new Error(`the template has a part "${name}", which nobody knows`);
  return isOn;
}
