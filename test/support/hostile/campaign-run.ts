/** What each part of the campaign gets, and what it reports. */
import { startTestStack, type TestStack } from '../stack.ts';
import type { Report } from './experiment.ts';

/** A line of the table. */
export interface Row {
  readonly name: string;
  /** What was sent. */
  readonly sent: string;
  /** The outcome. */
  readonly outcome: string;
  readonly report?: Report;
  /** The bounds that were exceeded. */
  readonly breaches: readonly string[];
}

export interface Run {
  readonly seed: number;
  /** The number of the fuzz's inputs. */
  readonly count: number;
  /** How long the random readers read. */
  readonly minutes: number;
  readonly signal: AbortSignal;
  readonly say: (text: string) => void;
}

export interface Campaign {
  readonly name: string;
  readonly title: string;
  readonly run: (run: Run) => Promise<Row>;
}

export async function onService<T>(
  { signal, say }: Run,
  settings: Readonly<Record<string, string>>,
  use: (stack: TestStack) => Promise<T>,
): Promise<T> {
  signal.throwIfAborted();
  say('the service starts');
  const stack = await startTestStack(settings);
  try {
    signal.throwIfAborted();
    return await use(stack);
  } finally {
    await stack.close();
  }
}
