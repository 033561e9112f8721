/** The operator: creates accounts and keys for tests, over the admin service. */
import { readFile } from 'node:fs/promises';
import {
  type Account,
  AdminServiceService as Admin,
  type DayUsage,
  Plan,
} from '../../../gen/apiplatform/admin/v1/admin.ts';
import { operatorKeyFile } from '../../../src/platform/access/keys/key-files.ts';
import type { Config } from '../../../src/platform/config/config.ts';
import { toTimestamp } from '../../../src/platform/tables/fields.ts';
import type { Scope } from '../scope.ts';
import { GrpcCaller } from './grpc-caller.ts';

type PlanOrLimits = Plan | { readonly perMinute: number; readonly perDay: number };

export class Operator extends GrpcCaller {
  account(plan: PlanOrLimits): Promise<Account> {
    const limits = typeof plan === 'object' ? { plan: Plan.PLAN_ENTERPRISE, ...plan } : { plan };
    return this.call(Admin.createAccount, { name: 'Test', ...limits });
  }

  async key(accountId: bigint, expiresAtMs?: number): Promise<{ id: bigint; key: string }> {
    const { apiKey, key } = await this.call(Admin.createKey, { accountId, expireTime: toTimestamp(expiresAtMs) });
    return { id: apiKey?.id ?? 0n, key };
  }

  async keyOf(plan: PlanOrLimits): Promise<string> {
    return (await this.key((await this.account(plan)).id)).key;
  }

  async usage(accountId: bigint): Promise<DayUsage[]> {
    return (await this.call(Admin.getUsage, { accountId })).days;
  }
}

/** Connects to the private port of a service on this machine, until the end of the test. */
export async function connectOperator(
  t: Scope,
  { grpcAddress, config }: { readonly grpcAddress: string; readonly config: Pick<Config, 'dataDir'> & Partial<Config> },
): Promise<Operator> {
  const key = config.operatorKey ?? (await readFile(operatorKeyFile(config.dataDir), 'utf8')).trim();
  const operator = new Operator(grpcAddress, key);
  t.teardown(() => operator.close());
  return operator;
}
