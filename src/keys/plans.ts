/** What each plan allows: the one place that turns a plan's name into numbers. */
import type { Plan, Quota } from '../model.ts';

/** The plans with limits of their own. */
export type PlanQuotas = Readonly<Record<Exclude<Plan, 'enterprise'>, Quota>>;

/** The quota in force: the plan's, or what was agreed with an enterprise account. */
export function quotaOf(plan: Plan, agreed: Quota | undefined, plans: PlanQuotas): Quota {
  if (plan !== 'enterprise') return plans[plan];
  return agreed ?? plans.business; // an enterprise account is never made without; this errs on the safe side
}
