/** How an odd caller over HTTP/2 sends its request and reads the response. */
import fc, { type Arbitrary } from 'fast-check';

export interface Manner {
  /** The window of the stream, and when it becomes an ordinary one. */
  readonly window: number;
  readonly opensAfterMs: number;
  /** Which share of the body is sent. 1 is all of it, and the end of the request. */
  readonly sentShare: number;
  /** How many bytes are read, every 50 ms; undefined: all as they come. */
  readonly slice: number | undefined;
  /** How many bytes are read before the caller stops; undefined: all. */
  readonly stopsAfter: number | undefined;
  /** When the caller leaves: it resets the request, or drops the connection. */
  readonly giveUpMs: number;
  readonly drops: boolean;
  /** The deadline of a call. */
  readonly deadlineMs: number | undefined;
}

/** The longest time of a caller who reads oddly. */
const MAX_MS = 4_000;
const mostly = <T>(usual: T, odd: Arbitrary<T>) =>
  fc.oneof({ weight: 4, arbitrary: fc.constant(usual) }, { weight: 1, arbitrary: odd });
const sometimes = <T>(odd: Arbitrary<T>) => fc.option(odd, { nil: undefined, freq: 1 });

export const manner: Arbitrary<Manner> = fc.record({
  window: fc.constantFrom(0, 0, 1, 100, 1_000, 16_384, 65_535, 65_535, 1_048_576),
  opensAfterMs: fc.nat(MAX_MS / 2),
  sentShare: mostly(1, fc.double({ min: 0, max: 1, noNaN: true })),
  slice: sometimes(fc.integer({ min: 1, max: 20_000 })),
  stopsAfter: sometimes(fc.nat(200_000)),
  giveUpMs: mostly(MAX_MS, fc.nat(MAX_MS)),
  drops: mostly(false, fc.constant(true)),
  // From 1 ms to 20 s, as many short ones as long ones.
  deadlineMs: sometimes(fc.double({ min: 0, max: 1, noNaN: true }).map((power) => Math.round(20_000 ** power))),
});
