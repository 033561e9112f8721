/** The accounts of a chaos run: some never reach their limits, some do at once. */
import { Plan } from '../../../gen/petstore/admin/v1/admin.ts';
import type { Operator } from '../operator.ts';
import type { Call } from './history.ts';

export interface ChaosAccount {
  readonly name: string;
  readonly perMinute: number;
  readonly perDay: number;
  /** One for each client of the account. */
  readonly transports: readonly Call['transport'][];
}

const MANY = 1_000_000;

export const ACCOUNTS: readonly ChaosAccount[] = [
  { name: 'free', perMinute: 60, perDay: 1_000, transports: ['REST'] },
  { name: 'minute', perMinute: 150, perDay: MANY, transports: ['REST', 'gRPC', 'REST'] },
  { name: 'day', perMinute: MANY, perDay: 400, transports: ['gRPC', 'REST'] },
  { name: 'large', perMinute: MANY, perDay: MANY, transports: ['REST', 'gRPC', 'REST', 'gRPC', 'REST', 'gRPC'] },
];

/** The checker's own account, with which it reads everything at the end. */
export const CHECKER: ChaosAccount = { name: 'checker', perMinute: MANY, perDay: MANY, transports: [] };

export interface OpenAccount extends ChaosAccount {
  readonly id: bigint;
  readonly key: string;
}

export async function openAccount(operator: Operator, account: ChaosAccount): Promise<OpenAccount> {
  const { perMinute, perDay, name } = account;
  const { id } = await operator.account(name === 'free' ? Plan.PLAN_FREE : { perMinute, perDay });
  const { key } = await operator.key(id);
  return { ...account, id, key };
}
