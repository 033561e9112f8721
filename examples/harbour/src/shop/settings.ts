/** The shop's settings: docs/settings.md has them after those of the platform, and its services get them. */
import { toCount } from '../platform/config/checks.ts';
import { setting, type ValuesOf } from '../platform/config/setting.ts';

export const SHOP_SETTINGS = {
  RENTAL_DAYS: setting(toCount, '14', 'How many days a boat may be rented at a time.'),
};

export type ShopSettings = ValuesOf<typeof SHOP_SETTINGS>;
