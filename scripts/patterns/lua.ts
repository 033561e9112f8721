/** The patterns of Lua (Reference Manual of 5.1, section 5.4.1), as literals of JavaScript that match the same text. */

/** The classes, but for their capitals, which are all other characters. */
const CLASSES: Readonly<Record<string, string>> = {
  ...{ a: 'A-Za-z', c: '\\x00-\\x1f\\x7f', d: '0-9', l: 'a-z', p: '!-\\/:-@\\[-`{-~' },
  ...{ s: '\\t-\\r ', u: 'A-Z', w: '0-9A-Za-z', x: '0-9A-Fa-f', z: '\\x00' },
};
/** A call with a pattern: its text, or the name of it. */
const CALL = /:(?:find|g?match|gsub)\((?:"((?:[^"\\\n]|\\.)*)"|'((?:[^'\\\n]|\\.)*)'|([\w.]+))/g;

/** The patterns of a Lua file. Those in `others` are defined elsewhere. @throws Error for any other without a text */
export function patternsOfLua(source: string, others: readonly string[]): string[] {
  return Array.from(source.matchAll(CALL), ([, double, single, name = '']) => {
    const text = double ?? single ?? new RegExp(`^local ${name} = "(.*)"$`, 'm').exec(source)?.[1];
    if (text === undefined && !others.includes(name)) throw new Error(`there is no text of the pattern ${name}`);
    return toLiteral(unescaped(text ?? ''));
  });
}

function unescaped(text: string): string {
  const named: Readonly<Record<string, string>> = { n: '\n', r: '\r', t: '\t' };
  return text.replace(/\\(\d{1,3}|.)/g, (_, one: string) =>
    /\d/.test(one) ? String.fromCharCode(Number(one)) : (named[one] ?? one),
  );
}

/** The literal for a pattern of Lua. Positions and balanced pairs, which take no time or are not used, are left out. */
export function toLiteral(pattern: string): string {
  const [, start = '', items = '', end = ''] = /^(\^?)(.*?)(\$?)$/s.exec(pattern) ?? [];
  const converted = items.replace(/\[(\^?)(\]?(?:%.|[^\]])*)\]|%(.)|\(\)|-|[/{}|]|./gs, convert);
  return `/${start}${converted}${end}/s`;
}

function convert(item: string, not: string | undefined, set: string | undefined, escaped: string | undefined): string {
  if (set !== undefined)
    return `[${not}${set.replace(/%(.)|[[\]\\/]/g, (one, name) => ofClass(name, true) ?? `\\${one}`)}]`;
  if (escaped !== undefined) return ofClass(escaped, false) ?? `\\${escaped}`;
  if (item === '()') return '';
  if (item === '-') return '*?';
  return /[/{}|\\]/.test(item) ? `\\${item}` : item;
}

function ofClass(name: string | undefined, isInSet: boolean): string | undefined {
  if (name === undefined) return undefined;
  const found = CLASSES[name.toLowerCase()];
  if (found === undefined) return /\w/.test(name) ? undefined : `\\${name}`;
  const isOther = name !== name.toLowerCase();
  if (isInSet && isOther) throw new Error(`%${name} in a set is not supported`);
  return isInSet ? found : `[${isOther ? '^' : ''}${found}]`;
}
