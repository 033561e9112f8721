/** The checker: finds the violations in the evidence of a chaos run. */
import { checkFeed } from './check-feed.ts';
import { checkLimits } from './check-limits.ts';
import { checkObjects } from './check-objects.ts';
import { checkAnswers } from './check-service.ts';
import { checkUsage } from './check-usage.ts';
import type { Evidence, Violation } from './evidence.ts';

export interface Verdict {
  readonly violations: readonly Violation[];
  /** The number of pets and categories that were checked. */
  readonly objects: number;
  readonly undecided: number;
}

export function check(evidence: Evidence): Verdict {
  const { violations, objects, undecided } = checkObjects(evidence.calls, evidence.feed);
  const others = [
    ...checkFeed(evidence),
    ...checkLimits(evidence),
    ...checkUsage(evidence),
    ...checkAnswers(evidence.calls),
  ];
  return { violations: [...violations, ...others], objects, undecided };
}
