/** Names as they are stored. */

const AROUND = /^\p{White_Space}+|\p{White_Space}+$/gu;

/**
 * A name without the white space around it: Unicode's, as `trim` in the rules of the proto files has it. JavaScript's
 * own takes U+FEFF away too, and would leave nothing of a name that has passed the rules.
 */
export function trimmed(name: string): string {
  return name.replace(AROUND, '');
}
