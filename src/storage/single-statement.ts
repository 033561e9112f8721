/**
 * A statement with its parameters that has not been run. The store runs it as a transaction of its own (`Store.write`)
 * or as a step of a larger transaction (`Store.transaction`).
 */
import type { Runner } from './engine.ts';
import type { Row } from './row.ts';
import type { Params, Statement } from './statement.ts';

export class SingleStatement<T> {
  readonly #run: (runner: Runner) => Promise<T>;

  private constructor(run: (runner: Runner) => Promise<T>) {
    this.#run = run;
  }

  /** `toResult` converts the rows that the statement returns. */
  static of<T>(statement: Statement, params: Params, toResult: (rows: readonly Row[]) => T): SingleStatement<T> {
    return new SingleStatement(async (runner) => toResult(await runner.all(statement, params)));
  }

  run(runner: Runner): Promise<T> {
    return this.#run(runner);
  }

  /** Converts the result. In a transaction, an error thrown by `toResult` rolls the transaction back. */
  map<U>(toResult: (result: T) => U): SingleStatement<U> {
    return new SingleStatement(async (runner) => toResult(await this.#run(runner)));
  }

  /** Runs the statement through `around`, for example in a trace span. */
  within(around: (run: () => Promise<T>) => Promise<T>): SingleStatement<T> {
    return new SingleStatement((runner) => around(() => this.#run(runner)));
  }
}

/** The statements of a table, as methods that run them in a transaction. */
export type InTransaction<Statements> = {
  readonly [M in keyof Statements]: Statements[M] extends (...args: infer Args) => SingleStatement<infer T>
    ? (...args: Args) => Promise<T>
    : never;
};

type AnyStatements = Readonly<Record<string, (...args: never[]) => SingleStatement<unknown>>>;

/** Returns a function that binds a table's statements to a transaction. */
export function bindable<Statements extends object>(statements: Statements): (tx: Runner) => InTransaction<Statements> {
  const methods = Object.entries(statements as AnyStatements);
  return (tx) => {
    const bound: Record<string, (...args: never[]) => Promise<unknown>> = {};
    for (const [name, describe] of methods) bound[name] = (...args) => describe(...args).run(tx);
    return bound as InTransaction<Statements>; // the loop has set every method of the type
  };
}
