/** Settings of plans, limits and bans. */
import { toCount } from './checks.ts';
import { type Setting, setting } from './setting.ts';

export const LIMITS = {
  FREE_PER_MINUTE: count('Requests a minute on the Free plan.', '60'),
  FREE_PER_DAY: count('Requests a day on the Free plan.', '1000'),
  PRO_PER_MINUTE: count('Requests a minute on the Pro plan.', '300'),
  PRO_PER_DAY: count('Requests a day on the Pro plan.', '10000'),
  BUSINESS_PER_MINUTE: count('Requests a minute on the Business plan.', '1000'),
  BUSINESS_PER_DAY: count('Requests a day on the Business plan.', '100000'),
  ADDRESS_PER_MINUTE: count('Requests a minute without a valid key, per IP address (an IPv6 /64 counts as one).', '60'),
  ADDRESS_BURST: count('Requests at once without a known key, per IP address, that Envoy lets through.', '120'),
  ADDRESS_PER_SECOND: count('Requests a second that Envoy lets through after such a burst.', '20'),
  MAX_ADDRESSES: count('How many addresses have a count of their own in one minute; the others share one.', '100000'),
  BAN_REFUSALS: count('How many refused requests within `BAN_WINDOW_SECONDS` ban a key.', '20'),
  BAN_WINDOW_SECONDS: count('How long refused requests count towards a ban, in seconds.', '60'),
  BAN_SECONDS: count('How long a ban lasts, in seconds.', '300'),
};

function count(about: string, fallback: string): Setting<number> {
  return setting({ about, fallback, parse: toCount });
}
