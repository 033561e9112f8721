/** What storage and the limits know, as messages of the admin service; and back. */
import {
  type Account as AccountMessage,
  type ApiKey as ApiKeyMessage,
  type Ban as BanMessage,
  Permission as PermissionMessage,
  Plan as PlanMessage,
  type Standing,
  Window,
  type WindowStanding,
} from '../../../../gen/apiplatform/admin/v1/admin.ts';
import { type LimitWindow, type Plan, type PlanQuotas, quotaOf } from '../../config/plans.ts';
import type { Permission } from '../../rpc/caller.ts';
import { type Instant, toTimestamp } from '../../tables/fields.ts';
import type { Decision } from '../limits/limiter.ts';
import type { Account, ApiKey } from '../tables/accounts.ts';
import type { Ban } from '../tables/bans.ts';

export const PLANS: Readonly<Record<Plan, PlanMessage>> = {
  free: PlanMessage.PLAN_FREE,
  pro: PlanMessage.PLAN_PRO,
  business: PlanMessage.PLAN_BUSINESS,
  enterprise: PlanMessage.PLAN_ENTERPRISE,
};

export const PERMISSIONS: Readonly<Record<Permission, PermissionMessage>> = {
  read: PermissionMessage.PERMISSION_READ,
  write: PermissionMessage.PERMISSION_WRITE,
};

export function nameOf<Name extends string>(names: Readonly<Record<Name, number>>, value: unknown): Name | undefined {
  return (Object.keys(names) as Name[]).find((name) => names[name] === value);
}

export function toAccountMessage(account: Account, plans: PlanQuotas): AccountMessage {
  const { id, name, plan, agreed, isSuspended, createdAtMs } = account;
  const described = { id, name, plan: PLANS[plan], suspended: isSuspended, createTime: toTimestamp(createdAtMs) };
  return { ...described, ...quotaOf(plan, agreed, plans) };
}

export function toKeyMessage(apiKey: ApiKey, ban?: Ban, lastUsedAtMs?: number): ApiKeyMessage {
  const { createdAtMs, expiresAtMs, revokedAtMs, permission, ...key } = apiKey;
  return {
    ...key,
    permission: PERMISSIONS[permission],
    createTime: toTimestamp(createdAtMs),
    expireTime: toTimestamp(expiresAtMs),
    revokeTime: toTimestamp(revokedAtMs),
    lastUseTime: toTimestamp(lastUsedAtMs),
    ban: ban && toBanMessage(ban),
  };
}

export function toMs(instant: Instant | undefined): number | undefined {
  return instant && Number(instant.seconds) * 1_000 + Math.floor(instant.nanos / 1_000_000);
}

export const WINDOWS = { minute: Window.WINDOW_MINUTE, day: Window.WINDOW_DAY } satisfies Record<LimitWindow, Window>;

export function toBanMessage({ keyId, untilMs, durationMs, refusals, window }: Ban): BanMessage {
  return {
    keyId,
    endTime: toTimestamp(untilMs),
    startTime: toTimestamp(untilMs - durationMs),
    refusals,
    window: WINDOWS[window],
  };
}

export function toStanding(
  { windows, refused, isLocal: local = false }: Decision,
  lastUsedAtMs: number | undefined,
): Standing {
  const standings = windows.map(({ window, limit, used, resetAtSeconds }) => {
    return [window, { limit, used: BigInt(used), resetTime: toTimestamp(resetAtSeconds * 1_000) }] as const;
  });
  const { minute, day } = Object.fromEntries(standings) as Readonly<Record<LimitWindow, WindowStanding>>;
  return { minute, day, refusedToday: BigInt(refused), local, lastUseTime: toTimestamp(lastUsedAtMs) };
}
