/** What starts have in common: an Envoy that gets ready, and an end before it does. */
import { once } from 'node:events';
import { type Child, ChildExited } from './child.ts';
import type { Envoy } from './envoy.ts';

/** How long Envoy may take until it is ready: less than half of what the service may take until it answers. */
const ENVOY_READY_MS = 12_000;

/** The start was interrupted. What had been started by then has been stopped. */
export class Interrupted extends Error {
  override name = 'Interrupted';
}

/** Rejects with Interrupted when the signal comes. */
export async function rejectOnAbort(signal: AbortSignal): Promise<never> {
  if (!signal.aborted) await once(signal, 'abort');
  throw new Interrupted();
}

/** Resolves with the process when it is ready. One that stays in its initialization is ended, and another is started. */
export async function startEnvoy(envoy: Envoy): Promise<Child> {
  try {
    await envoy.start(ENVOY_READY_MS);
  } catch (error) {
    if (error instanceof ChildExited) throw error;
    await envoy.start(ENVOY_READY_MS);
  }
  return envoy.child;
}
