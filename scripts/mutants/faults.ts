/** The small faults that can be made in a file: one token or one statement is another, or is gone. */
import ts from 'typescript';

export interface Fault {
  /** What stands from `start` to `end` is replaced. */
  readonly start: number;
  readonly end: number;
  readonly by: string;
}

/** What stands in the place of an operator, in TypeScript and in Lua. */
const SWAPPED = [
  ...[
    ['===', '!=='],
    ['==', '~='],
    ['<', '<='],
    ['>', '>='],
    ['&&', '||'],
    ['and', 'or'],
    ['+', '-'],
    ['*', '/'],
  ],
  ...[
    ['true', 'false'],
    ['??', '&&'],
    ['+=', '-='],
  ],
] as const;
const OTHERS = new Map(
  SWAPPED.flatMap(([one = '', other = '']) => [
    [one, other],
    [other, one],
  ]),
);

export function faultsOf(file: string, text: string): readonly Fault[] {
  return file.endsWith('.lua') ? faultsOfLua(text) : faultsOfTypeScript(file, text);
}

function faultsOfTypeScript(file: string, text: string): readonly Fault[] {
  const faults: Fault[] = [];
  const source = ts.createSourceFile(file, text, ts.ScriptTarget.Latest, true);
  const add = (node: ts.Node, by: string) => void faults.push({ start: node.getStart(), end: node.end, by });
  const visit = (node: ts.Node): void => {
    if (ts.isTypeNode(node) || ts.isImportDeclaration(node) || ts.isInterfaceDeclaration(node)) return;
    const other = OTHERS.get(node.getText());
    const isOperator = ts.isBinaryExpression(node.parent ?? node) && ts.isToken(node);
    const isTruth = node.kind === ts.SyntaxKind.TrueKeyword || node.kind === ts.SyntaxKind.FalseKeyword;
    if (other !== undefined && (isOperator || isTruth)) add(node, other);
    if (ts.isNumericLiteral(node)) add(node, `${Number(node.text.replaceAll('_', '')) + 1}`);
    if (ts.isStringLiteral(node) && node.text !== '') add(node, "''");
    if (ts.isPrefixUnaryExpression(node) && node.operator === ts.SyntaxKind.ExclamationToken)
      add(node, node.operand.getText());
    if (ts.isAwaitExpression(node)) add(node, node.expression.getText());
    if (ts.isConditionalExpression(node)) {
      const { condition, whenTrue, whenFalse } = node;
      add(node, `${condition.getText()} ? ${whenFalse.getText()} : ${whenTrue.getText()}`);
    }
    if (ts.isIfStatement(node)) add(node.expression, `!(${node.expression.getText()})`);
    if (ts.isExpressionStatement(node) || ts.isIfStatement(node) || ts.isThrowStatement(node)) add(node, ';');
    ts.forEachChild(node, visit);
  };
  visit(source);
  return faults;
}

/** A comment or a text, which is left alone; a word, a number or an operator; a statement that is one line. */
const LUA = /--.*|'(?:[^'\\\n]|\\.)*'|"(?:[^"\\\n]|\\.)*"|\[\[[\s\S]*?\]\]|\b\d+\b|\b\w+\b|[=~<>]=|[<>+*/-]/g;
const LUA_STATEMENT = /^[ ]+(?:[\w.:]+\(.*\)|[\w.[\]]+ = .*[^,{(])$/gm;

function faultsOfLua(text: string): readonly Fault[] {
  const tokens = Array.from(text.matchAll(LUA), ({ 0: token, index: start }): Fault | undefined => {
    const end = start + token.length;
    if (/^\d+$/.test(token)) return { start, end, by: `${Number(token) + 1}` };
    if (token === 'not') return { start, end, by: '' };
    const other = OTHERS.get(token);
    return other === undefined ? undefined : { start, end, by: other };
  });
  const lines = Array.from(text.matchAll(LUA_STATEMENT), ({ 0: line, index: start }) => {
    return { start, end: start + line.length, by: '' };
  });
  return [...tokens.filter((fault) => fault !== undefined), ...lines];
}
