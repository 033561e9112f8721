/** Callers that go on calling, each as soon as it has been answered, until they are told to stop. */
import { until } from './until.ts';

export interface Load {
  /** How often each answer has come so far. */
  readonly answers: ReadonlyMap<string, number>;
  /** Resolves when the last answer is there. */
  stop(): Promise<void>;
}

/** `call` resolves with what was answered; what it throws is an answer too. `count` is different for each call. */
export function startLoad(callers: number, call: (count: number) => Promise<string>): Load {
  const answers = new Map<string, number>();
  let isOver = false;
  let count = 0;
  const callOn = async () => {
    while (!isOver) {
      count += 1;
      const answer = await call(count).catch((error: unknown) => String((error as Error).cause ?? error));
      answers.set(answer, (answers.get(answer) ?? 0) + 1);
    }
  };
  const all = Array.from({ length: callers }, callOn);
  return {
    answers,
    async stop() {
      isOver = true;
      await Promise.all(all);
    },
  };
}

/** How many answers have come. */
export function total({ answers }: Load): number {
  return [...answers.values()].reduce((sum, count) => sum + count, 0);
}

/** Resolves when `count` more answers have come. */
export async function untilMore(load: Load, count: number): Promise<void> {
  const goal = total(load) + count;
  await until(() => total(load) >= goal, `${count} more answers`);
}
