/** The operator: creates accounts and keys for tests, over the admin service. */
import { readFile } from 'node:fs/promises';
import { Client } from '@grpc/grpc-js';
import { type Account, AdminServiceService as Admin, type DayUsage, Plan } from '../../gen/petstore/admin/v1/admin.ts';
import { operatorKeyFile } from '../../src/access/keys/key-files.ts';
import type { Config } from '../../src/config/config.ts';
import { bearer, insecure, type Method, type Partly, unary } from './grpc.ts';

type PlanOrLimits = Plan | { readonly perMinute: number; readonly perDay: number };

export interface Operator {
  call<Q, A>(method: Method<Q, A>, request: Partly<Q>): Promise<A>;
  /** Creates an account with a plan, or an enterprise account with the given limits. */
  account(plan: PlanOrLimits): Promise<Account>;
  /** Creates a key of an account. */
  key(accountId: bigint, expiresAtMs?: number): Promise<{ id: bigint; key: string }>;
  /** Creates an account and returns a key of it. */
  keyOf(plan: PlanOrLimits): Promise<string>;
  usage(accountId: bigint): Promise<DayUsage[]>;
  close(): void;
}

/** A service on this machine. */
interface Reachable {
  readonly grpcAddress: string;
  readonly config: Pick<Config, 'dataDir'>;
}

export async function connectOperator(stack: Reachable): Promise<Operator> {
  const operatorKey = (await readFile(operatorKeyFile(stack.config.dataDir), 'utf8')).trim();
  const client = new Client(stack.grpcAddress, insecure);
  const call: Operator['call'] = async (method, request) =>
    (await unary(client, method, request, bearer(operatorKey))).message;
  const account: Operator['account'] = (plan) => {
    const limits = typeof plan === 'object' ? { plan: Plan.PLAN_ENTERPRISE, ...plan } : { plan };
    return call(Admin.createAccount, { name: 'Test', ...limits });
  };
  const key: Operator['key'] = async (accountId, expiresAtMs) => {
    const expireTime = expiresAtMs === undefined ? undefined : toTimestamp(expiresAtMs);
    const made = await call(Admin.createKey, { accountId, expireTime });
    return { id: made.apiKey?.id ?? 0n, key: made.key };
  };
  return {
    call,
    account,
    key,
    keyOf: async (plan) => (await key((await account(plan)).id)).key,
    usage: async (accountId) => (await call(Admin.getUsage, { accountId })).days,
    close: () => client.close(),
  };
}

function toTimestamp(ms: number) {
  return { seconds: BigInt(Math.floor(ms / 1_000)), nanos: (ms % 1_000) * 1_000_000 };
}
