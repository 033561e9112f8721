/** All settings: those of the platform, and those of the shop, which its services get. */
import { type Environment, readSettings } from './platform/config/setting.ts';
import { SETTING_GROUPS } from './platform/config/settings.ts';
import { SHOP_SETTINGS, type ShopSettings } from './shop/settings.ts';

/** The groups of docs/settings.md. */
export const GROUPS = {
  ...SETTING_GROUPS,
  ...(Object.keys(SHOP_SETTINGS).length > 0 && { 'The shop': SHOP_SETTINGS }),
};

/** Reads those of the shop. Throws ConfigError for the first bad one. */
export function readShopSettings(env: Environment = process.env): ShopSettings {
  return readSettings(env, SHOP_SETTINGS);
}
