/** Templates of Envoy configurations, with variables and optional sections. */

/** The value of a variable: a text, which the template has in double quotes, a number, or a list. */
export type Value = string | number | readonly unknown[];

/**
 * Replaces the variables `${NAME}` of a template, and keeps or removes its optional sections. A section is the lines
 * between `#if NAME` and `#endif`, with an optional `#else`. Each directive has a line of its own. Unknown variables
 * stay. Throws an Error for a directive without its counterpart and for an unknown section.
 */
export function fillIn(
  template: string,
  values: Readonly<Record<string, Value>>,
  sections: Readonly<Record<string, boolean>> = {},
): string {
  return selectLines(template, sections).replace(/\$\{([A-Z_]+)\}/g, (variable, name: string) => {
    const value = values[name];
    if (value === undefined) return variable;
    // JSON is YAML, on one line.
    return Array.isArray(value) ? JSON.stringify(value) : String(value).replace(/["\\]/g, '\\$&');
  });
}

/** The template without directives, and without the sections that are off. */
function selectLines(template: string, sections: Readonly<Record<string, boolean>>): string {
  /** Whether each of the sections around the current line is on, from the outermost. */
  const open: boolean[] = [];
  const lines = template.split('\n').filter((line) => {
    const [, directive, name = ''] = /^ *#(if|else|endif)(?: (\w+))?$/.exec(line) ?? [];
    if (directive === undefined) return open.every((isOn) => isOn);
    if (directive === 'if') open.push(isSectionOn(sections, name));
    else {
      const wasOn = open.pop();
      if (wasOn === undefined) throw new Error(`the template has "${line.trim()}" outside of a section`);
      if (directive === 'else') open.push(!wasOn);
    }
    return false;
  });
  if (open.length > 0) throw new Error('the template has a section without an end');
  return lines.join('\n');
}

function isSectionOn(sections: Readonly<Record<string, boolean>>, name: string): boolean {
  const isOn = sections[name];
  if (isOn === undefined) throw new Error(`the template has an unknown section "${name}"`);
  return isOn;
}
