/** What lets one step fail of what is done with a driver, or through a proxy. */
export type Steps = ReturnType<typeof newSteps>;

export function newSteps() {
  /** The step that fails next: how many come before it. */
  let armed: { before: number; readonly way: string } | undefined;
  let steps: string[] = [];
  return {
    /** Lets the step after `before` others fail, once. */
    fail(before: number, way: string) {
      [armed, steps] = [{ before, way }, []];
    },
    /** Lets nothing fail from now on. Returns whether a step has failed, and which ones there were up to it. */
    heal() {
      const hasFailed = armed === undefined;
      armed = undefined;
      return { hasFailed, steps };
    },
    /** Notes a step. Returns the way in which it fails; undefined if it does not. */
    next(step: string): string | undefined {
      if (armed === undefined) return undefined;
      steps.push(step);
      if (armed.before-- > 0) return undefined;
      const { way } = armed;
      armed = undefined;
      return way;
    },
    lastStep: () => steps.at(-1) ?? '',
  };
}
