/** The shop's settings, for its services. This one has none: its numbers are rules in the proto files. */
import type { ValuesOf } from '../platform/config/setting.ts';

export const SHOP_SETTINGS = {};

export type ShopSettings = ValuesOf<typeof SHOP_SETTINGS>;
