/**
 * The service config that makes grpc-js itself retry, with exponential backoff, when the server is not there or has
 * taken too long.
 *
 * Either may mean that the server has done the work and nobody heard of it. So only those methods are retried that the
 * proto files call idempotent (`idempotency_level`), and those that create something: every attempt at such a call
 * carries the same idempotency key, and the server does its work once. grpc-js retries a call of any method that has
 * certainly not reached the server's code (gRFC A6, "transparent retries"): a stream that was never opened, or that
 * the server refused while shutting down.
 *
 * RESOURCE_EXHAUSTED is left out on purpose: see admission.ts.
 */
import { CREATING, IDEMPOTENT } from '../../gen/client/methods.ts';

/** grpc-js itself allows no more attempts than this. */
export const MAX_ATTEMPTS = 5;

/** Waits of 0.2, 0.4, 0.8 and 1.6 s, each up to 20 % more or less: 3 s in all, enough for a restart. */
const BACKOFF = { initialBackoff: '0.2s', maxBackoff: '2s', backoffMultiplier: 2 };

/** The service config (JSON) for at most `maxAttempts` attempts at a call. */
export function retryConfig(maxAttempts: number): string {
  const methodConfig = [
    {
      name: [...IDEMPOTENT, ...CREATING].map(toName),
      retryPolicy: { maxAttempts, ...BACKOFF, retryableStatusCodes: ['UNAVAILABLE', 'DEADLINE_EXCEEDED'] },
    },
  ];
  return JSON.stringify({ loadBalancingConfig: [], methodConfig: maxAttempts > 1 ? methodConfig : [] });
}

function toName(path: string): { service: string | undefined; method: string | undefined } {
  const [, service, method] = path.split('/');
  return { service, method };
}
