/**
 * The patterns of Envoy's configuration, and whether its RE2 matches them cheaply. RE2 is linear for each, but it makes
 * a state of its automaton for each set of places of the pattern that a text reaches. Counts that overlap, as in
 * `a{0,60}\s{0,20}.{0,200}`, have so many that each character of a new text makes one, for some 10 µs.
 */
import { DFA, JS, NFA } from 'refa';
import { bootstrap } from '../../envoy/config/bootstrap.ts';
import { readConfig } from '../../src/platform/config/config.ts';

const MAX_STATES = 500;

/** Those of a configuration with all that has patterns, as literals of JavaScript that match a whole text. */
export function patternsOfEnvoy(): readonly string[] {
  const config = readConfig({ CORS_ORIGINS: 'https://a.example', TRUSTED_PROXIES: '192.0.2.1' });
  const files = { root: '', adminSocket: '', accessLog: undefined, secret: (name: string) => name };
  const found = new Set<string>();
  JSON.stringify(bootstrap({ ...config, edgeSecret: '', httpPort: 1 }, files), (key, value) => {
    if (typeof value !== 'string') return value;
    if (key === 'regex') found.add(toLiteral(value));
    // CEL looks for a match anywhere in the text. Its own texts have two backslashes for one.
    for (const [, regex = ''] of value.matchAll(/\.matches\('(.*?)'\)/g))
      found.add(toLiteral(`\\C*(${regex.replaceAll('\\\\', '\\')})\\C*`));
    return value;
  });
  return [...found];
}

/** What RE2 has and JavaScript has not: `(?i)` at the start, and `\C` for any byte. */
function toLiteral(regex: string): string {
  const [, isCaseless, rest = ''] = /^(\(\?i\))?(.*)$/s.exec(regex) ?? [];
  return `/${rest.replaceAll('/', '\\/').replaceAll('\\C', '[^]')}/u${isCaseless ? 'i' : ''}`;
}

/** Says what is wrong with a pattern. Undefined if its automaton has few states. */
export function problemOfStates(literal: string): string | undefined {
  const end = literal.lastIndexOf('/');
  const parser = JS.Parser.fromLiteral({ source: literal.slice(1, end), flags: literal.slice(end + 1) });
  const { expression, maxCharacter } = parser.parse({ assertions: 'disable' });
  try {
    DFA.fromFA(NFA.fromRegex(expression, { maxCharacter }), new DFA.LimitedNodeFactory(MAX_STATES));
    return undefined;
  } catch {
    return `RE2 makes more than ${MAX_STATES} states of ${literal}: let no counts overlap`;
  }
}
