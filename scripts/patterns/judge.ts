/** Whether a pattern takes linear time. */
import { check } from 'recheck';

/** Steps, and not time, which would be another on a busy machine. */
const LIMITS = { timeout: 120_000, attackTimeout: null, incubationTimeout: null } as const;

/** Says what is wrong with a pattern, as a literal of JavaScript. Undefined if it takes linear time. */
export async function problemOf(literal: string): Promise<string | undefined> {
  const end = literal.lastIndexOf('/');
  const result = await check(literal.slice(1, end), literal.slice(end + 1), LIMITS);
  if (result.status === 'safe') return undefined;
  if (result.status === 'unknown') return `${literal} can't be judged (${result.error.kind}): write it in another way`;
  return `${literal} takes ${result.complexity.summary} time, as on ${result.attack.pattern}: write it in another way`;
}
