/** AdminService: accounts, their plans, their API keys, their usage. For the operator alone. */
import {
  type Account as AccountMessage,
  type AdminServiceServer,
  type ApiKey as ApiKeyMessage,
  Plan as PlanMessage,
} from '../../gen/petstore/admin/v1/admin.ts';
import { apiError, invalidArgument } from '../errors.ts';
import type { KeyChange } from '../keys/api-key-cache.ts';
import { displayPrefix, generateKey, hashKey } from '../keys/format.ts';
import { type PlanQuotas, quotaOf } from '../keys/plans.ts';
import { dayIndexAt, dayStartMs, type Quota } from '../limits/windows.ts';
import type { Account, ApiKey, Instant, Plan } from '../model.ts';
import type { Store, Transaction } from '../storage/store.ts';
import { trimmed } from './name.ts';
import { nextPageToken, toPageRequest } from './page-token.ts';
import type { Service } from './service.ts';

const DEFAULT_USAGE_DAYS = 30;

export interface AdminParts {
  readonly store: Store;
  readonly plans: PlanQuotas;
  /** A key or an account has changed. */
  readonly onChange: (change: KeyChange) => void;
  /** Stores what the limits have counted so far. */
  readonly flushUsage: () => Promise<void>;
  readonly nowMs?: () => number;
}

export function adminService(parts: AdminParts): Service<AdminServiceServer> {
  const { store, plans, onChange, flushUsage, nowMs = Date.now } = parts;
  const toMessage = (account: Account) => toAccountMessage(account, plans);

  async function change(accountId: bigint, toChanged: (account: Account) => Account): Promise<AccountMessage> {
    const changed = await store.transaction(async (tx) => {
      const account = toChanged(await lockAccount(tx, accountId));
      await tx.accounts.update(account);
      return account;
    });
    onChange({ kind: 'account', id: accountId });
    return toMessage(changed);
  }

  async function find(accountId: bigint): Promise<Account> {
    const account = await store.accounts.find(accountId);
    if (account === undefined) throw apiError('ACCOUNT_NOT_FOUND', { accountId });
    return account;
  }

  return {
    async createAccount({ name, ...request }) {
      const plan = toPlan(request.plan);
      const agreed = agreedLimits(plan, request, undefined);
      const account = { name: trimmed(name), plan, agreed, createdAtMs: nowMs() };
      return toMessage(await store.write((tx) => tx.accounts.insert(account)));
    },

    getAccount: async ({ accountId }) => toMessage(await find(accountId)),

    async listAccounts(request) {
      const page = await store.accounts.page(toPageRequest('accounts', request));
      return { accounts: page.rows.map(toMessage), nextPageToken: nextPageToken('accounts', page, ({ id }) => id) };
    },

    updateAccount: ({ accountId, ...request }) =>
      change(accountId, (account) => {
        const plan = request.plan === undefined ? account.plan : toPlan(request.plan);
        return { ...account, plan, agreed: agreedLimits(plan, request, account.agreed) };
      }),

    suspendAccount: ({ accountId }) => change(accountId, (account) => ({ ...account, isSuspended: true })),
    resumeAccount: ({ accountId }) => change(accountId, (account) => ({ ...account, isSuspended: false })),

    async createKey({ accountId, label, expireTime }) {
      const key = generateKey();
      const described = { prefix: displayPrefix(key), label, createdAtMs: nowMs(), expiresAtMs: toMs(expireTime) };
      const created = await store.transaction(async (tx) => {
        await lockAccount(tx, accountId);
        return tx.accounts.insertKey({ accountId, ...described }, hashKey(key));
      });
      return { apiKey: toKeyMessage(created), key };
    },

    async listKeys({ accountId, ...request }) {
      await find(accountId);
      const page = await store.accounts.pageOfKeys(accountId, toPageRequest('keys', request));
      return { keys: page.rows.map(toKeyMessage), nextPageToken: nextPageToken('keys', page, ({ id }) => id) };
    },

    async revokeKey({ keyId }) {
      const revoked = await store.transaction(async (tx) => {
        const key = await tx.accounts.lockKey(keyId);
        if (key === undefined) throw apiError('API_KEY_NOT_FOUND', { keyId });
        if (key.revokedAtMs !== undefined) return key;
        const revokedAtMs = nowMs();
        await tx.accounts.revokeKey(keyId, revokedAtMs);
        return { ...key, revokedAtMs };
      });
      onChange({ kind: 'key', id: keyId });
      return toKeyMessage(revoked);
    },

    async getUsage({ accountId, days = DEFAULT_USAGE_DAYS }) {
      await find(accountId);
      await flushUsage();
      const usage = await store.usage.ofAccount(accountId, dayIndexAt(nowMs()) - days + 1);
      return {
        days: usage.map(({ dayIndex, requests, refused }) => ({
          day: new Date(dayStartMs(dayIndex)).toISOString().slice(0, 'YYYY-MM-DD'.length),
          requests: BigInt(requests),
          refused: BigInt(refused),
        })),
      };
    },
  };
}

async function lockAccount(tx: Transaction, accountId: bigint): Promise<Account> {
  const account = await tx.accounts.lock(accountId);
  if (account === undefined) throw apiError('ACCOUNT_NOT_FOUND', { accountId });
  return account;
}

interface AskedLimits {
  readonly perMinute?: number | undefined;
  readonly perDay?: number | undefined;
}

/** The limits agreed with an account of `plan`: an enterprise account needs both numbers, no other may have any. */
function agreedLimits(plan: Plan, asked: AskedLimits, current: Quota | undefined): Quota | undefined {
  const given = (['perMinute', 'perDay'] as const).filter((name) => asked[name] !== undefined);
  if (plan !== 'enterprise') {
    if (given.length > 0) throw badLimits(given, `is for enterprise accounts: the ${plan} plan has its own limits`);
    return undefined;
  }
  const perMinute = asked.perMinute ?? current?.perMinute;
  const perDay = asked.perDay ?? current?.perDay;
  if (perMinute !== undefined && perDay !== undefined) return { perMinute, perDay };
  const missing = [...(perMinute === undefined ? ['perMinute'] : []), ...(perDay === undefined ? ['perDay'] : [])];
  throw badLimits(missing, 'is needed for an enterprise account');
}

function badLimits(names: readonly string[], description: string) {
  return invalidArgument(names.map((name) => ({ path: name, name, description })));
}

const PLANS: Readonly<Record<Plan, PlanMessage>> = {
  free: PlanMessage.PLAN_FREE,
  pro: PlanMessage.PLAN_PRO,
  business: PlanMessage.PLAN_BUSINESS,
  enterprise: PlanMessage.PLAN_ENTERPRISE,
};

function toPlan(message: PlanMessage): Plan {
  const found = (Object.keys(PLANS) as Plan[]).find((plan) => PLANS[plan] === message);
  if (found === undefined) throw invalidArgument([{ path: 'plan', name: 'plan', description: 'is no plan' }]);
  return found;
}

function toAccountMessage(account: Account, plans: PlanQuotas): AccountMessage {
  const { id, name, plan, agreed, isSuspended, createdAtMs } = account;
  const { perMinute, perDay } = quotaOf(plan, agreed, plans);
  const createTime = toTimestamp(createdAtMs);
  return { id, name, plan: PLANS[plan], perMinute, perDay, suspended: isSuspended, createTime };
}

function toKeyMessage({ id, accountId, prefix, label, createdAtMs, expiresAtMs, revokedAtMs }: ApiKey): ApiKeyMessage {
  return {
    ...{ id, accountId, prefix, label },
    createTime: toTimestamp(createdAtMs),
    expireTime: expiresAtMs === undefined ? undefined : toTimestamp(expiresAtMs),
    revokeTime: revokedAtMs === undefined ? undefined : toTimestamp(revokedAtMs),
  };
}

function toTimestamp(ms: number): Instant {
  return { seconds: BigInt(Math.floor(ms / 1_000)), nanos: (ms % 1_000) * 1_000_000 };
}

function toMs(instant: Instant | undefined): number | undefined {
  return instant && Number(instant.seconds) * 1_000 + Math.floor(instant.nanos / 1_000_000);
}
