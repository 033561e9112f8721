/** AdminService: accounts, their plans, API keys, bans and usage. For the operator alone. */
import type { AdminServiceServer, ApiKey as ApiKeyMessage } from '../../../../gen/apiplatform/admin/v1/admin.ts';
import { type Plan, type PlanQuotas, type Quota, quotaOf, WINDOWS } from '../../config/plans.ts';
import { apiError, existing, invalidArgument } from '../../errors.ts';
import { trimmed } from '../../proto/fields.ts';
import { type KeyId, toAccountId, toKeyId } from '../../rpc/caller.ts';
import type { Service } from '../../rpc/methods.ts';
import { pageTokens } from '../../rpc/page-token.ts';
import type { WritingCall } from '../../tables/store.ts';
import { displayPrefix, generateKey, hashKey } from '../keys/format.ts';
import type { Limiter } from '../limits/limiter.ts';
import { dayIndexAt, dayStartMs } from '../limits/windows.ts';
import type { Account, ApiKey } from '../tables/accounts.ts';
import type { AccessStore, AccessTransaction } from '../tables/tables.ts';
import {
  nameOf,
  PERMISSIONS,
  PLANS,
  toAccountMessage,
  toBanMessage,
  toKeyMessage,
  toMs,
  toStanding,
} from './admin-messages.ts';

const ACCOUNT_PAGES = pageTokens(5);
const KEY_PAGES = pageTokens(6);
const BAN_PAGES = pageTokens(7);

const DEFAULT_USAGE_DAYS = 30;
const DEFAULT_OVERLAP_SECONDS = 86_400;

export interface AdminParts {
  readonly store: Omit<AccessStore, 'transaction' | 'write'>; // each write is of a call
  readonly plans: PlanQuotas;
  /** A key or an account has changed. */
  readonly onChange: () => void;
  readonly limiter: Pick<Limiter, 'now' | 'peek' | 'unban'>;
  /** Stores what the limits have counted so far. */
  readonly flushUsage: () => Promise<void>;
}

export function adminService(parts: AdminParts): Service<AdminServiceServer, WritingCall> {
  const { store, plans, onChange, limiter, flushUsage } = parts;
  const toMessage = (account: Account) => toAccountMessage(account, plans);

  async function change(accountId: bigint, call: WritingCall, toChanged: (account: Account) => Account) {
    const changed = await store.forCall(call).transaction(async (tx) => {
      const account = toChanged(await lock(tx, accountId));
      await tx.accounts.update(account);
      return account;
    });
    onChange();
    return toMessage(changed);
  }

  const find = async (id: bigint) => existing(await store.accounts.find(toAccountId(id)), noAccount(id));
  const lock = async (tx: AccessTransaction, id: bigint) =>
    existing(await tx.accounts.lock(toAccountId(id)), noAccount(id));

  /** Adds each key's ban and last use. Last uses at other servers are up to half a minute old. */
  async function withActivity(keys: readonly ApiKey[]): Promise<ApiKeyMessage[]> {
    await flushUsage();
    const ids = keys.map(({ id }) => id);
    const [bans, uses] = await Promise.all([store.bans.ofKeys(ids, await limiter.now()), store.usage.lastUses(ids)]);
    const banOf = new Map(bans.map((ban) => [ban.keyId, ban]));
    const lastUseOf = new Map(uses.map(({ keyId, lastUsedAtMs }) => [keyId, lastUsedAtMs]));
    return keys.map((key) => toKeyMessage(key, banOf.get(key.id), lastUseOf.get(key.id)));
  }

  return {
    async createAccount({ name, ...request }, call) {
      const plan = nameOf(PLANS, request.plan) ?? 'free'; // validation has checked that it is one
      const agreed = agreedLimits(plan, request, undefined);
      const account = { name: trimmed(name), plan, agreed, isSuspended: false, createdAtMs: Date.now() };
      return toMessage(await store.forCall(call).write(({ accounts }) => accounts.insert(account)));
    },

    getAccount: async ({ accountId }) => toMessage(await find(accountId)),

    async listAccounts(request) {
      const page = await store.accounts.page(ACCOUNT_PAGES.toPageRequest(request));
      return { accounts: page.rows.map(toMessage), nextPageToken: ACCOUNT_PAGES.next(page, ({ id }) => id) };
    },

    updateAccount: ({ accountId, ...request }, call) =>
      change(accountId, call, (account) => {
        const plan = nameOf(PLANS, request.plan) ?? account.plan;
        return { ...account, plan, agreed: agreedLimits(plan, request, account.agreed) };
      }),

    suspendAccount: ({ accountId }, call) => change(accountId, call, (account) => ({ ...account, isSuspended: true })),
    resumeAccount: ({ accountId }, call) => change(accountId, call, (account) => ({ ...account, isSuspended: false })),

    async createKey({ label, expireTime, ...request }, call) {
      const key = generateKey();
      const permission = nameOf(PERMISSIONS, request.permission) ?? 'write';
      const described = { label, permission, prefix: displayPrefix(key), expiresAtMs: toMs(expireTime) };
      const created = await store.forCall(call).transaction(async (tx) => {
        const { id: accountId } = await lock(tx, request.accountId);
        return tx.keys.insert({ accountId, ...described, createdAtMs: Date.now() }, hashKey(key));
      });
      return { apiKey: toKeyMessage(created), key };
    },

    async rotateKey({ overlapSeconds = DEFAULT_OVERLAP_SECONDS, ...request }, call) {
      const key = generateKey();
      const [keyId, nowMs] = [toKeyId(request.keyId), Date.now()];
      const { created, replaced } = await store.forCall(call).transaction(async (tx) => {
        const old = existing(await tx.keys.lock(keyId), noKey(keyId));
        const { accountId, label, permission, expiresAtMs = Number.POSITIVE_INFINITY } = old;
        // An earlier rotation has shortened its own: the key from then has the expiry that was agreed.
        const agreed = old.replacedBy === undefined ? old : ((await tx.keys.lock(old.replacedBy)) ?? old);
        if (old.revokedAtMs !== undefined || expiresAtMs <= nowMs) throw apiError('API_KEY_ENDED', { keyId });
        const described = { accountId, label, permission, createdAtMs: nowMs, expiresAtMs: agreed.expiresAtMs };
        const added = { ...described, prefix: displayPrefix(key), replaces: keyId };
        const created = await tx.keys.insert(added, hashKey(key));
        const endsAtMs = Math.min(expiresAtMs, nowMs + overlapSeconds * 1_000);
        const replaced = { ...old, expiresAtMs: endsAtMs, replacedBy: created.id };
        await tx.keys.update(replaced);
        return { created, replaced };
      });
      onChange();
      return { apiKey: toKeyMessage(created), key, replaced: toKeyMessage(replaced) };
    },

    async listKeys(request) {
      const { id: accountId } = await find(request.accountId);
      const page = await store.keys.page(KEY_PAGES.toPageRequest(request), { accountId });
      return { keys: await withActivity(page.rows), nextPageToken: KEY_PAGES.next(page, ({ id }) => id) };
    },

    async revokeKey(request, call) {
      const keyId = toKeyId(request.keyId);
      const revoked = await store.forCall(call).transaction(async (tx) => {
        const key = existing(await tx.keys.lock(keyId), noKey(keyId));
        const changed = { ...key, revokedAtMs: key.revokedAtMs ?? Date.now() };
        await tx.keys.update(changed);
        return changed;
      });
      onChange();
      return toKeyMessage(revoked);
    },

    async unbanKey(request) {
      const keyId = toKeyId(request.keyId);
      const key = existing(await store.keys.find(keyId), noKey(keyId));
      await flushUsage(); // the ban that ends is returned
      const [ban] = await store.bans.ofKeys([keyId], await limiter.now());
      if (!(await limiter.unban(key.accountId, keyId))) throw apiError('BAN_NOT_ENDED');
      const endMs = await limiter.now();
      const ofNoCall = { isCancelled: () => false }; // it is stored also when the caller has gone
      await store.forCall(ofNoCall).write(({ bans }) => bans.end(keyId, endMs));
      return { apiKey: toKeyMessage(key), ended: ban && toBanMessage(ban) };
    },

    async listBans(request) {
      const account = request.accountId === undefined ? undefined : await find(request.accountId);
      await flushUsage();
      const page = await store.bans.page(BAN_PAGES.toPageRequest(request), await limiter.now(), account?.id);
      return {
        bans: page.rows.map(({ prefix, label, accountId, accountName, ...ban }) => {
          return { ban: toBanMessage(ban), prefix, label, accountId, accountName };
        }),
        nextPageToken: BAN_PAGES.next(page, ({ keyId }) => keyId),
      };
    },

    async getStanding(request) {
      const { id, plan, agreed } = await find(request.accountId);
      await flushUsage();
      const account = { kind: 'account', accountId: id, quota: quotaOf(plan, agreed, plans) } as const;
      const numbers = limiter.peek({ ...account, nowMs: Date.now() });
      const [decision, lastUsedAtMs] = await Promise.all([numbers, store.usage.lastUseOf(id)]);
      return toStanding(decision, lastUsedAtMs);
    },

    async getUsage({ days = DEFAULT_USAGE_DAYS, ...request }) {
      const { id } = await find(request.accountId);
      await flushUsage();
      const usage = await store.usage.ofAccount(id, dayIndexAt(await limiter.now()) - days + 1);
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

const noAccount = (accountId: bigint) => () => apiError('ACCOUNT_NOT_FOUND', { accountId });
const noKey = (keyId: KeyId) => () => apiError('API_KEY_NOT_FOUND', { keyId });

type Asked<T> = { readonly [Name in keyof T]?: T[Name] | undefined };

const LIMITS = WINDOWS.map(({ quota }) => quota);

/** The limits agreed with an account of `plan`: an enterprise account needs all numbers, no other may have any. */
function agreedLimits(plan: Plan, asked: Asked<Quota>, current: Quota | undefined): Quota | undefined {
  if (plan !== 'enterprise') {
    const given = LIMITS.filter((name) => asked[name] !== undefined);
    if (given.length > 0) throw badLimits(given, `is for enterprise accounts: the ${plan} plan has its own limits`);
    return undefined;
  }
  const agreed = Object.fromEntries(LIMITS.map((name) => [name, asked[name] ?? current?.[name]]));
  const missing = LIMITS.filter((name) => agreed[name] === undefined);
  if (missing.length === 0) return agreed as Quota;
  throw badLimits(missing, 'is needed for an enterprise account');
}

function badLimits(names: readonly (keyof Quota)[], description: string) {
  const inProto = (name: string) => name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
  return invalidArgument(names.map((name) => ({ path: inProto(name), name, description })));
}
