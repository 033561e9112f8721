/** A closed-loop load: callers that each call again soon after they have the response. */
import { setTimeout as delay } from 'node:timers/promises';
import { until } from '../until.ts';

/** Leaves the processor to what is tested: twenty callers send about three hundred requests a second. */
const PAUSE_MS = 60;

export type Load = ReturnType<typeof startLoad>;

/** `call` resolves with the response as text. An error that it throws counts as a response, too. `count` is unique. */
export function startLoad(callers: number, call: (count: number) => Promise<string>, { pauseMs = PAUSE_MS } = {}) {
  const answers = new Map<string, number>();
  let isOver = false;
  let count = 0;
  const callRepeatedly = async () => {
    while (!isOver) {
      count += 1;
      const answer = await call(count).catch((error: unknown) => String((error as Error).cause ?? error));
      answers.set(answer, (answers.get(answer) ?? 0) + 1);
      if (pauseMs > 0) await delay(pauseMs);
    }
  };
  const all = Array.from({ length: callers }, callRepeatedly);
  return {
    answers,
    async stop() {
      isOver = true;
      await Promise.all(all);
    },
  };
}

function total({ answers }: Load): number {
  return [...answers.values()].reduce((sum, count) => sum + count, 0);
}

export async function untilMore(load: Load, count: number): Promise<void> {
  const goal = total(load) + count;
  await until(() => total(load) >= goal, `${count} more answers`);
}
