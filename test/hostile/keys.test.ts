/** What guessing keys costs the database. */
import test from 'ava';
import { guessKeys } from '../support/hostile/guesses.ts';

const GUESSES = 1_000;

for (const [title, isAtOnce] of [
  ['one after another', false],
  ['at once', true],
] as const) {
  test(`Keys - of ${GUESSES} guesses from one address, ${title}, at most a minute’s limit is looked up`, async (t) => {
    const { lookUps, refused, limited, allowed } = await guessKeys(GUESSES, isAtOnce);
    t.is(refused + limited, GUESSES);
    t.true(refused > 0 && refused <= allowed, `${refused} were answered as guesses`);
    t.true(lookUps > 0 && lookUps <= allowed, `${lookUps} look-ups`);
  });
}
