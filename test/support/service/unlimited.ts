export type Settings = Readonly<Record<string, string>>;

/** Settings for tests that are not about limits: they must not run into one. */
export const UNLIMITED: Settings = {
  BUSINESS_PER_MINUTE: '1000000',
  BUSINESS_PER_DAY: '1000000',
  ADDRESS_PER_MINUTE: '1000000',
  ADDRESS_BURST: '1000000',
  ADDRESS_PER_SECOND: '1000000',
};
