/** Starting Envoy, and the interruption of a start. */
import { once } from 'node:events';
import { type Child, ChildExited } from './child.ts';
import type { Envoy } from './envoy.ts';

/** How long Envoy may take to become ready: less than half of the time that the service may take. */
const ENVOY_READY_MS = 12_000;

/** The start was interrupted, and everything that it had started has stopped. */
export class Interrupted extends Error {
  override name = 'Interrupted';
}

/** Rejects with Interrupted when the signal aborts. */
export async function rejectOnAbort(signal: AbortSignal): Promise<never> {
  if (!signal.aborted) await once(signal, 'abort');
  throw new Interrupted();
}

/** Resolves with the process when it is ready. Starts Envoy a second time if it hangs in its initialization. */
export async function startEnvoy(envoy: Envoy): Promise<Child> {
  try {
    await envoy.start(ENVOY_READY_MS);
  } catch (error) {
    if (error instanceof ChildExited) throw error;
    await envoy.start(ENVOY_READY_MS);
  }
  return envoy.child;
}
