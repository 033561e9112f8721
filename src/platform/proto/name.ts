/** Normalises names before they are stored. */

const OUTER_SPACE = /^\p{White_Space}+|\p{White_Space}+$/gu;

/**
 * Removes Unicode white space at both ends, like `trim` in the validation rules of the proto files. JavaScript's `trim`
 * also removes U+FEFF, which could leave an empty name after validation.
 */
export function trimmed(name: string): string {
  return name.replace(OUTER_SPACE, '');
}
