/**
 * Lets one step of what is done with the driver of SQLite fail. A step is a call of the driver: of a database to open,
 * exec, prepare or close, of a statement to run or to finalize. Whatever has failed is what SQLite may have left: the
 * step is not done, or done and reported as failed (but for an open and a prepare, which end what they have begun), or
 * its transaction has ended too.
 */
import sqlite3 from 'sqlite3';
import type { Scope } from '../support/scope.ts';
import { newSteps } from './steps.ts';

// biome-ignore lint/suspicious/noExplicitAny: of any method of the driver
type Any = any;
type Callback = (error: Error | null, ...results: unknown[]) => void;

const CODES = { SQLITE_FULL: 13, SQLITE_IOERR: 10, SQLITE_NOMEM: 7, SQLITE_BUSY: 5, SQLITE_CORRUPT: 11 } as const;
const EFFECTS = ['before', 'after', 'ending'] as const;

/** An error, whether the step is done, or its transaction ended, and how many steps of the recovery fail too. */
interface Way {
  readonly code: keyof typeof CODES;
  readonly effect: (typeof EFFECTS)[number];
  readonly more: number;
}

/** What is locked is not done. */
const EACH: readonly Way[] = (Object.keys(CODES) as Way['code'][])
  .flatMap((code) => EFFECTS.map((effect) => ({ code, effect, more: 0 })))
  .filter(({ code, effect }) => code !== 'SQLITE_BUSY' || effect !== 'after');
const REPEATED: readonly Way[] = EFFECTS.flatMap((effect) =>
  [1, 2, 3].map((more) => ({ code: 'SQLITE_IOERR', effect, more }) as const),
);
const nameOf = ({ code, effect, more }: Way) => `${code} ${effect}${more > 0 ? ` and ${more} more` : ''}`;
const BY_NAME = new Map([...EACH, ...REPEATED].map((way) => [nameOf(way), way]));

/** What ends a transaction after a failure (src/platform/storage/sqlite-writer.ts). */
const RECOVERY = 'exec SAVEPOINT any';

export const WAYS = [...BY_NAME.keys()];
/** Those of one failure alone, and of several. */
export const SINGLE = EACH.map(nameOf);
export const SEVERAL = REPEATED.map(nameOf);
/** A damaged file is no reason to try again. */
export const INTERNAL = WAYS.filter((name) => name.startsWith('SQLITE_CORRUPT'));

export function failingDriver(t: Scope) {
  const steps = newSteps();
  let more: Way | undefined;
  /** The way in which a step fails; undefined if it does not. */
  const failing = (step: string): Way | undefined => {
    const way = BY_NAME.get(steps.next(step) ?? '');
    if (way !== undefined) more = way;
    else if (more === undefined || more.more === 0 || !step.startsWith(RECOVERY)) return undefined;
    else more = { ...more, more: more.more - 1 };
    return more;
  };

  const { Database, Statement } = sqlite3 as Any;
  const { exec } = Database.prototype;
  /** Within a method that is made of others. */
  let depth = 0;
  const call = (original: Any, self: Any, database: Any, step: string, args: unknown[], make = original.apply) => {
    const way = depth > 0 ? undefined : failing(step);
    depth += 1;
    try {
      if (way === undefined) return make.call(original, self, args);
      const callback = args.at(-1) as Callback;
      const error = Object.assign(new Error(`${way.code}: the step fails`), { code: way.code, errno: CODES[way.code] });
      const fail = () => callback.call(self, error);
      if (way.effect === 'after' && !/^(prepare|open)/.test(step))
        return make.call(original, self, [...args.slice(0, -1), fail]);
      if (way.effect === 'ending' && database !== undefined) exec.call(database, 'ROLLBACK', () => fail());
      else setImmediate(fail);
      return self;
    } finally {
      depth -= 1;
    }
  };
  const owners = new WeakMap<object, object>();
  const patch = (target: Any, name: string, describe: (self: Any, args: unknown[]) => string) => {
    const original = target[name];
    target[name] = function (...args: unknown[]) {
      const database = this instanceof Database ? this : owners.get(this);
      const result = call(original, this, database, `${name} ${describe(this, args)}`, args);
      if (name === 'prepare') owners.set(result, this);
      return result;
    };
    t.teardown(() => Object.assign(target, { [name]: original }));
  };
  for (const name of ['exec', 'prepare', 'all', 'run']) patch(Database.prototype, name, (_, [sql]) => String(sql));
  patch(Database.prototype, 'close', () => '');
  patch(Statement.prototype, 'all', ({ sql }) => sql);
  patch(Statement.prototype, 'finalize', ({ sql }) => sql);
  const construct = (target: Any, args: unknown[]) => {
    const make = (_: unknown, all: unknown[]) => Reflect.construct(target, all);
    return call(target, Object.create(Database.prototype), undefined, 'open', args, make);
  };
  Object.assign(sqlite3, { Database: new Proxy(Database, { construct }) });
  t.teardown(() => Object.assign(sqlite3, { Database }));

  return {
    ...steps,
    heal() {
      more = undefined;
      return steps.heal();
    },
  };
}
