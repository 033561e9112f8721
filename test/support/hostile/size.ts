/** The size of attacks and random inputs: small in `npm test`, full in `npm run test:hostile` (scripts/hostile.ts). */
const { HOSTILE_SEED, HOSTILE_MINUTES, HOSTILE_COUNT } = process.env;

export const isFull = HOSTILE_MINUTES !== undefined;
export const SEED = Number(HOSTILE_SEED ?? 1);
/** How long random readers read. */
export const READING_MS = isFull ? Number(HOSTILE_MINUTES) * 60_000 : 15_000;
/** How many inputs the fuzz sends. */
export const INPUTS = Number(HOSTILE_COUNT ?? 2_000);
