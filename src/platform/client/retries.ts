/**
 * The service config with which grpc-js retries calls when the server is unavailable or too slow.
 *
 * The server may have done the work of such a call. So only two kinds of methods are retried: those that the proto
 * files declare idempotent (`idempotency_level`), and those that create a resource, whose attempts all have the same
 * idempotency key. grpc-js also retries a call of any method that has certainly not reached the server's code (gRFC A6,
 * "transparent retries"): a stream that was never opened, or that the server refused while it shut down.
 *
 * RESOURCE_EXHAUSTED is not retried here: see admission.ts.
 */
import { CREATING, IDEMPOTENT } from '../../../gen/client/methods.ts';

/** The most attempts that grpc-js allows. */
export const MAX_ATTEMPTS = 5;

/** Delays of 0.2, 0.4, 0.8 and 1.6 s, each up to 20 % more or less: 3 s in total, enough for a restart. */
const BACKOFF = { initialBackoff: '0.2s', maxBackoff: '2s', backoffMultiplier: 2 };

export function retryConfig(maxAttempts: number): string {
  const methodConfig = [
    {
      name: [...IDEMPOTENT, ...CREATING].map((path) => {
        const [, service, method] = path.split('/');
        return { service, method };
      }),
      retryPolicy: { maxAttempts, ...BACKOFF, retryableStatusCodes: ['UNAVAILABLE', 'DEADLINE_EXCEEDED'] },
    },
  ];
  return JSON.stringify({ loadBalancingConfig: [], methodConfig: maxAttempts > 1 ? methodConfig : [] });
}
