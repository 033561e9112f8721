/** The patterns of TypeScript and JavaScript: of files, and of everything that they load. */
import { globSync, readFileSync } from 'node:fs';
import { registerHooks } from 'node:module';
import { relative } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { getCallSites } from 'node:util';
import ts from 'typescript';

/** The packages that meet no text of a caller. Any other is checked. */
const TRUSTED: Readonly<Record<string, string>> = {
  '@bufbuild/cel': 'parses the rules of the proto files',
  '@redis/client': 'parses what Redis responds',
  commander: "parses the operator's arguments",
  'ipaddr.js': 'parses what Node takes for an IPv6 address, and addresses in settings',
  knex: 'composes SQL of our own names, at the start',
  lodash: 'works for knex',
  'pg-types': 'parses what PostgreSQL responds, as the two below',
  'postgres-date': 'of a timestamp',
  'postgres-interval': 'of an interval',
  yaml: "writes Envoy's configuration",
};

export interface Pattern {
  /** From the current folder. */
  readonly file: string;
  /** As a literal of JavaScript. */
  readonly literal: string;
}

/**
 * Loads all files but programs. Resolves with the patterns of all that is loaded with them, literals and those that are
 * made meanwhile.
 */
export async function loadPatterns(files: string): Promise<readonly Pattern[]> {
  const sources = globSync(files).filter((file) => !file.endsWith('main.ts'));
  const loaded = new Set<string>();
  const made: Pattern[] = [];
  registerHooks({
    load(url, context, next) {
      if (url.startsWith('file:')) loaded.add(fileURLToPath(url));
      return next(url, context);
    },
  });
  const record = (literal: RegExp): RegExp => {
    made.push({ file: relative('.', callerOf(import.meta.filename)), literal: String(literal) });
    return literal;
  };
  const native = globalThis.RegExp;
  globalThis.RegExp = new Proxy(native, {
    construct: (target, args, self) => record(Reflect.construct(target, args, self)),
    apply: (target, self, args) => record(Reflect.apply(target, self, args)),
  });
  for (const file of sources) await import(pathToFileURL(file).href);
  const { loadOperations } = await import('../../src/platform/proto/operations.ts');
  loadOperations();
  globalThis.RegExp = native;
  const literals = [...loaded]
    .filter((file) => /\.[cm]?[jt]s$/.test(file))
    .flatMap((file) =>
      literalsOf(readFileSync(file, 'utf8')).map((literal) => ({ file: relative('.', file), literal })),
    );
  return [...literals, ...made].filter(({ file }) => !isTrusted(file));
}

/** The file that has called this one. */
function callerOf(file: string): string {
  const sites = getCallSites().map(({ scriptName }) =>
    scriptName.startsWith('file:') ? fileURLToPath(scriptName) : scriptName,
  );
  return sites.find((site) => site !== file && !site.startsWith('node:')) ?? '';
}

function isTrusted(file: string): boolean {
  return Object.keys(TRUSTED).some((name) => file.includes(`node_modules/${name}/`));
}

/** The literals of a source, in JavaScript or TypeScript. */
export function literalsOf(source: string): string[] {
  const literals: string[] = [];
  const visit = (node: ts.Node): void => {
    if (ts.isRegularExpressionLiteral(node)) literals.push(node.text);
    ts.forEachChild(node, visit);
  };
  visit(ts.createSourceFile('.ts', source, ts.ScriptTarget.Latest));
  return literals;
}
