/** Checks that a key in use is refused everywhere 5 seconds after it is revoked. */
import { setTimeout as delay } from 'node:timers/promises';
import { AdminServiceService as Admin } from '../../../gen/petstore/admin/v1/admin.ts';
import type { Operator } from '../operator.ts';
import { RestClient } from '../rest-client.ts';
import type { OpenAccount } from './accounts.ts';
import type { Deployment } from './deployment.ts';
import type { Violation } from './evidence.ts';

const KNOWN_EVERYWHERE_MS = 5_000;
/** Enough to reach every server. */
const TRIES = 30;

export async function checkRevocation(
  { publicAddress }: Deployment,
  operator: Operator,
  { keyId, key }: OpenAccount,
): Promise<Violation[]> {
  await operator.call(Admin.revokeKey, { keyId });
  await delay(KNOWN_EVERYWHERE_MS);
  const rest = new RestClient(`http://${publicAddress}`, key);
  const statuses = await Promise.all(Array.from({ length: TRIES }, async () => (await rest.get('/pets')).status));
  const accepted = statuses.filter((status) => status !== 401);
  if (accepted.length === 0) return [];
  const seconds = KNOWN_EVERYWHERE_MS / 1_000;
  const title = `${seconds} s after a key was revoked it was accepted ${accepted.length} times of ${TRIES}`;
  return [{ title, lines: [accepted.join()] }];
}
