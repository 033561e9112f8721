/** The plans of accounts, and the quota of each. The column `plan` admits these alone: a new one needs a migration. */

export const PLANS = ['free', 'pro', 'business', 'enterprise'] as const;
export type Plan = (typeof PLANS)[number];

/** The windows of the limits, and their lengths. */
export const WINDOW_SECONDS = { minute: 60, day: 86_400 } as const;

export type LimitWindow = keyof typeof WINDOW_SECONDS;

/** How many requests an account may make per minute and per day. */
export interface Quota {
  readonly perMinute: number;
  /** `Infinity` for no daily limit. */
  readonly perDay: number;
}

/** The plans with a fixed quota. That of an enterprise account is agreed with the customer. */
export type PlanQuotas = Readonly<Record<Exclude<Plan, 'enterprise'>, Quota>>;

/** Returns the quota in force: the plan's, or what was agreed with an enterprise account. */
export function quotaOf(plan: Plan, agreed: Quota | undefined, plans: PlanQuotas): Quota {
  if (plan !== 'enterprise') return plans[plan];
  return agreed ?? plans.business; // every enterprise account has an agreed quota; this errs on the safe side
}
