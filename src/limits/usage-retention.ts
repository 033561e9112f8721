/** How long usage is kept: today and so many days before. */
import type { Logger } from 'pino';
import { type Retention, startRetention } from '../storage/retention.ts';
import type { Store } from '../storage/store.ts';
import { dayIndexAt } from './windows.ts';

export interface UsageRetentionOptions {
  readonly store: Store;
  /** How many days are kept beside today. */
  readonly days: number;
  readonly logger: Logger;
  readonly nowMs?: () => number;
}

export function startUsageRetention({ store, days, logger, nowMs = Date.now }: UsageRetentionOptions): Retention {
  return startRetention({
    what: 'usage',
    deletePortion: (maxRows) => store.write(({ usage }) => usage.deleteBefore(dayIndexAt(nowMs()) - days, maxRows)),
    logger,
  });
}
