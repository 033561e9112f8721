/** The size of attacks and random inputs: small in `npm test`, full in `npm run test:hostile` (scripts/hostile.ts). */
const { HOSTILE_SEED, HOSTILE_COUNT } = process.env;

export const isFull = HOSTILE_COUNT !== undefined;
export const SEED = Number(HOSTILE_SEED ?? 1);
/** How many inputs the fuzz sends. */
export const INPUTS = Number(HOSTILE_COUNT ?? 2_000);
