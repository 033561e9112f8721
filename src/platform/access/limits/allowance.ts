/**
 * An allowance of each subject: a burst, and a rate after it, as Envoy has one for addresses (envoy/allowance.lua).
 * Each server counts for itself.
 */

/** At the limit all are forgotten. */
const MAX_SUBJECTS = 20_000;

/** Returns a function that takes one from a subject's allowance, or only looks: false when nothing is left. */
export function createAllowance(burst: number, perSecond: number, nowMs = () => performance.now()) {
  const [intervalMs, burstMs] = [1_000 / perSecond, (burst * 1_000) / perSecond];
  /** When a subject's whole allowance is back (GCRA). */
  const fullAtMs = new Map<string, number>();
  return (subject: string, takes = true): boolean => {
    const now = nowMs();
    const nextMs = Math.max(fullAtMs.get(subject) ?? 0, now) + intervalMs;
    if (nextMs - now > burstMs) return false;
    if (!takes) return true;
    if (fullAtMs.size >= MAX_SUBJECTS) fullAtMs.clear();
    fullAtMs.set(subject, nextMs);
    return true;
  };
}
