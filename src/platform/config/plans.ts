/** The plans of accounts, and the quota of each. The column `plan` admits these alone: a new one needs a migration. */

export const PLANS = ['free', 'pro', 'business', 'enterprise'] as const;
export type Plan = (typeof PLANS)[number];

/** The windows of the limits: first the shortest, the only one of an address, last the day, which is stored. */
export const WINDOWS = [
  { name: 'minute', seconds: 60, quota: 'perMinute' },
  { name: 'day', seconds: 86_400, quota: 'perDay' },
] as const;

export type LimitWindow = (typeof WINDOWS)[number]['name'];

/** How many requests an account may make in each window. `Infinity` for no limit. */
export type Quota = Readonly<Record<(typeof WINDOWS)[number]['quota'], number>>;

/** The plans with a fixed quota. That of an enterprise account is agreed with the customer. */
export type PlanQuotas = Readonly<Record<Exclude<Plan, 'enterprise'>, Quota>>;

/** Returns the quota in force: the plan's, or what was agreed with an enterprise account. */
export function quotaOf(plan: Plan, agreed: Quota | undefined, plans: PlanQuotas): Quota {
  if (plan !== 'enterprise') return plans[plan];
  return agreed ?? plans.business; // every enterprise account has an agreed quota; this errs on the safe side
}
